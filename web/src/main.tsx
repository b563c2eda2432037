import { render } from "preact";
import "./theme.css";
import "./shell.css";
import "./list.css";
import "./viewer.css";
import "./editor/editor.css";
import "./panels/details.css";
import "./pair/pair.css";
import "./timeline/timeline.css";
import { PairShell } from "./pair/shell";
import { Shell } from "./shell";
import { start } from "./start";
import { pair } from "./store";

void start().then(() => render(pair.value === null ? <Shell /> : <PairShell />, document.getElementById("app") ?? document.body));
