// The YAML editor, a file of its own that the design page fetches. It lives in a shadow root:
// there its styles are adopted sheets, which the content policy allows.
import {autocompletion, completionKeymap, type CompletionContext} from "@codemirror/autocomplete";
import {defaultKeymap, history, historyKeymap, indentWithTab} from "@codemirror/commands";
import {yaml} from "@codemirror/lang-yaml";
import {bracketMatching, HighlightStyle, syntaxHighlighting} from "@codemirror/language";
import {lintGutter, lintKeymap, setDiagnostics} from "@codemirror/lint";
import {EditorState} from "@codemirror/state";
import {drawSelection, EditorView, highlightActiveLine, keymap, lineNumbers} from "@codemirror/view";
import {tags} from "@lezer/highlight";
import type {Problem} from "../api";

export interface Editor {
  text(): string;
  setText(text: string): void;
  setProblems(problems: Problem[]): void;
  goTo(line: number, column: number): void;
  focus(): void;
  end(): void;
}

const theme = EditorView.theme({
  "&": {height: "100%", fontSize: "13px", backgroundColor: "var(--surface)", color: "var(--text)"},
  ".cm-scroller": {fontFamily: "ui-monospace, SFMono-Regular, Menlo, monospace", overflow: "auto"},
  ".cm-gutters": {backgroundColor: "var(--surface)", color: "var(--quiet)", border: "none"},
  ".cm-activeLine, .cm-activeLineGutter": {backgroundColor: "var(--hover)"},
  ".cm-cursor": {borderLeftColor: "var(--text)"},
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {backgroundColor: "var(--selection) !important"},
  ".cm-tooltip": {backgroundColor: "var(--surface)", color: "var(--text)", border: "1px solid var(--line)"},
  ".cm-diagnostic": {padding: "4px 8px"},
});
const colours = HighlightStyle.define([
  {tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--code-key)"},
  {tag: [tags.number, tags.bool, tags.atom, tags.string], color: "var(--code-value)"},
  {tag: tags.comment, color: "var(--quiet)", fontStyle: "italic"},
]);

export function makeEditor(parent: HTMLElement, text: string, words: string[], onChange: (text: string) => void): Editor {
  const root = parent.shadowRoot ?? parent.attachShadow({mode: "open"});
  const box = document.createElement("div");
  box.style.height = "100%";
  root.replaceChildren(box);
  const complete = (context: CompletionContext) => {
    const word = context.matchBefore(/[\w.-]+/);
    return word && {from: word.from, options: words.map((label) => ({label}))};
  };
  let quiet = false;
  const view = new EditorView({
    parent: box,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), history(), drawSelection(), highlightActiveLine(), bracketMatching(), yaml(), lintGutter(),
        autocompletion({override: [complete]}), syntaxHighlighting(colours), theme,
        EditorView.contentAttributes.of({"aria-label": "Scenario"}),
        keymap.of([...completionKeymap, ...lintKeymap, ...defaultKeymap, ...historyKeymap, indentWithTab]),
        EditorView.updateListener.of((update) => { if (update.docChanged && !quiet) onChange(update.state.doc.toString()); }),
      ],
    }),
  });
  view.scrollDOM.tabIndex = 0; // a part that scrolls is reached by keys
  const at = (line: number, column: number) => {
    const found = view.state.doc.line(Math.max(1, Math.min(line || 1, view.state.doc.lines)));
    return Math.min(found.to, found.from + Math.max(0, column - 1));
  };
  return {
    text: () => view.state.doc.toString(),
    setText(next) {
      if (next === view.state.doc.toString()) return;
      quiet = true;
      view.dispatch({changes: {from: 0, to: view.state.doc.length, insert: next}});
      quiet = false;
    },
    setProblems(problems) {
      view.dispatch(setDiagnostics(view.state, problems.map((one) => {
        const from = at(one.where.line, one.where.column);
        const to = Math.max(from + 1, view.state.doc.lineAt(Math.min(from, view.state.doc.length)).to);
        return {from: Math.min(from, view.state.doc.length), to: Math.min(to, view.state.doc.length), severity: "error" as const, message: one.remedy ? `${one.what}; ${one.remedy}` : one.what};
      })));
    },
    goTo(line, column) {
      view.dispatch({selection: {anchor: at(line, column)}, scrollIntoView: true});
      view.focus();
    },
    focus: () => view.focus(),
    end: () => view.destroy(),
  };
}
