/** Colours of MLIR, LLVM IR, machine IR, PTX and SASS: a line at a time, by small tokenizers. */

import { HighlightStyle, StreamLanguage, type StringStream, syntaxHighlighting } from "@codemirror/language";
import type { Extension } from "@codemirror/state";
import { tags } from "@lezer/highlight";
import type { Document } from "../documents";

type Rule = [pattern: RegExp, token: string | null];

function language(rules: Rule[]): StreamLanguage<null> {
  return StreamLanguage.define<null>({
    startState: () => null,
    token(stream: StringStream) {
      if (stream.eatSpace()) return null;
      for (const [pattern, token] of rules) if (stream.match(pattern)) return token;
      stream.next();
      return null;
    },
  });
}

const STRING: Rule = [/^"(?:[^"\\]|\\.)*"?/, "string"];
const NUMBER: Rule = [/^-?(?:0x[\da-fA-F]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\b/, "number"];
const WORD: Rule = [/^[A-Za-z_$][\w.$]*/, null];

const MLIR = language([
  [/^\/\/.*/, "comment"],
  STRING,
  [/^%[\w.$-]+(?:[:#]\d+)?/, "variableName"],
  [/^\^\w+/, "labelName"],
  [/^@(?:[\w.$-]+|"[^"]*")/, "className"],
  [/^![\w.$]+/, "typeName"],
  [/^#[\w.$]+/, "meta"],
  [/^(?:vector|tensor|memref|tuple|index|none|[su]?i\d+|b?f\d+\w*)\b/, "typeName"],
  [/^(?:true|false|unit|dense|affine_map|loc|attributes|to|step|iter_args|else|do)\b/, "keyword"],
  [/^[a-z_]\w*(?:\.\w+)+/, "keyword"],
  NUMBER,
  WORD,
]);

const LLVM = language([
  [/^;.*/, "comment"],
  STRING,
  [/^%(?:[\w.$-]+|"[^"]*")/, "variableName"],
  [/^@(?:[\w.$-]+|"[^"]*")/, "className"],
  [/^![\w.$]*/, "meta"],
  [/^#\d+/, "meta"],
  [/^[\w.$-]+:/, "labelName"],
  [/^(?:i\d+|ptr|half|bfloat|float|double|void|label|metadata)\b/, "typeName"],
  NUMBER,
  [/^[a-z_][\w.]*/, "keyword"],
  WORD,
]);

const MACHINE = language([
  [/^[;#].*/, "comment"],
  STRING,
  [/^[%$][\w.$-]+/, "variableName"],
  [/^bb\.\d+[\w.$-]*:/, "labelName"],
  [/^:b\d+/, "typeName"],
  NUMBER,
  [/^[A-Z][\w]*/, "keyword"],
  WORD,
]);

const PTX = language([
  [/^\/\/.*/, "comment"],
  STRING,
  [/^%[\w.$]+/, "variableName"],
  [/^@!?%?\w+/, "labelName"],
  [/^\$[\w$]+:?/, "labelName"],
  [/^\.[a-z]\w*/, "meta"],
  [/^0[fd][\da-fA-F]+/, "number"],
  NUMBER,
  [/^[a-z]\w*(?:(?:\.|::)\w+)*(?=[\s;])/, "keyword"],
  WORD,
]);

const SASS = language([
  [/^\/\/.*/, "comment"],
  [/^\/\*.*?\*\//, "comment"],
  STRING,
  [/^@!?U?P\w+/, "labelName"],
  [/^\.L_\w+:?/, "labelName"],
  [/^(?:UR|R|UP|P|B|SB)(?:\d+|Z|T)(?:\.\w+)*/, "variableName"],
  [/^SR_[\w.]+/, "className"],
  [/^\.[a-z][\w.]*/, "meta"],
  NUMBER,
  [/^[A-Z][A-Z0-9]*(?:\.[A-Z0-9_x]+)*(?=[\s;])/, "keyword"],
  WORD,
]);

const LANGUAGES: Record<Document["kind"], StreamLanguage<null>> = {
  mlir: MLIR,
  "llvm-ir": LLVM,
  "machine-ir": MACHINE,
  ptx: PTX,
  sass: SASS,
};

const STYLE = HighlightStyle.define([
  { tag: tags.comment, class: "tok-comment" },
  { tag: tags.string, class: "tok-string" },
  { tag: tags.number, class: "tok-number" },
  { tag: tags.keyword, class: "tok-keyword" },
  { tag: tags.typeName, class: "tok-type" },
  { tag: tags.variableName, class: "tok-name" },
  { tag: tags.className, class: "tok-symbol" },
  { tag: tags.labelName, class: "tok-label" },
  { tag: tags.meta, class: "tok-meta" },
]);

/** Classes `tok-…` for tokens; their colours are the theme's. For editors of other languages, too. */
export const tokenClasses: Extension = syntaxHighlighting(STYLE);

export function colours(kind: Document["kind"]): Extension {
  return [LANGUAGES[kind], tokenClasses];
}
