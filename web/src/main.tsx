import { render } from "preact";
import "./theme.css";
import "./shell.css";
import "./list.css";
import "./viewer.css";
import "./editor/editor.css";
import "./panels/details.css";
import { Shell } from "./shell";
import { start } from "./start";

void start().then(() => render(<Shell />, document.getElementById("app") ?? document.body));
