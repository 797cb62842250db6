// Where the editor goes: fetches it when it is first needed.
import {useEffect, useRef} from "preact/hooks";
import type {Problem} from "../api";
import {html} from "../html";
import type {Editor} from "./editor";

const address = document.querySelector<HTMLMetaElement>("meta[name=netloom-editor]")!.content;

interface Props { text: string; problems: Problem[]; words: string[]; onChange: (text: string) => void; onReady?: (editor: Editor) => void }

export function EditorBox({text, problems, words, onChange, onReady}: Props) {
  const box = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor>(null);
  const latest = useRef({text, onChange});
  latest.current = {text, onChange};
  useEffect(() => {
    let ended = false;
    import(address).then((module) => {
      if (ended || !box.current) return;
      editor.current = module.makeEditor(box.current, latest.current.text, words, (next: string) => latest.current.onChange(next));
      editor.current!.setProblems(problems);
      onReady?.(editor.current!);
    });
    return () => { ended = true; editor.current?.end(); editor.current = null; };
  }, [words.length]);
  useEffect(() => editor.current?.setText(text), [text]);
  useEffect(() => editor.current?.setProblems(problems), [problems]);
  return html`<div class="editor" ref=${box}></div>`;
}
