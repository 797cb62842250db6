// Bundles the page into src/netloom/web/static: the same sources give the same bytes.
import {createHash} from "node:crypto";
import {mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {dirname, join, relative} from "node:path";
import {fileURLToPath} from "node:url";
import {build} from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "..", "src", "netloom", "web", "static");
const inline = process.argv[3] ?? join(here, "..", "src", "netloom", "results", "static");

/** All source files, in order; their digest stands in the page so that a test can compare. */
function sources(folder = join(here, "src")) {
  return readdirSync(folder, {withFileTypes: true})
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => (entry.isDirectory() ? sources(join(folder, entry.name)) : [join(folder, entry.name)]));
}

function sourceDigest() {
  const hash = createHash("sha256");
  for (const path of [...sources(), join(here, "package.json"), join(here, "build.mjs")]) {
    hash.update(relative(here, path)).update("\0").update(readFileSync(path)).update("\0");
  }
  return hash.digest("hex");
}

function licences(inputs) {
  const names = new Set(
    Object.keys(inputs)
      .filter((path) => path.includes("node_modules/"))
      .map((path) => path.split("node_modules/").pop().split("/"))
      .map(([scope, name]) => (scope.startsWith("@") ? `${scope}/${name}` : scope)),
  );
  return [...names].sort().map((name) => {
    const about = JSON.parse(readFileSync(join(here, "node_modules", name, "package.json"), "utf8"));
    const folder = join(here, "node_modules", name);
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    return `${name} ${about.version} (${about.license})\n\n${file ? readFileSync(join(folder, file), "utf8").trim() : ""}\n`;
  });
}

/** The same components for notebooks, which have no server: one script and one style. */
const notebook = await build({
  absWorkingDir: here,
  entryPoints: {notebook: "src/notebook.ts", "notebook-style": "src/notebook.css"},
  bundle: true,
  format: "iife",
  minify: true,
  target: "es2022",
  legalComments: "none",
  outdir: inline,
  write: false,
});
rmSync(inline, {recursive: true, force: true});
mkdirSync(inline, {recursive: true});
for (const file of notebook.outputFiles) writeFileSync(file.path, file.contents);

const result = await build({
  absWorkingDir: here,
  entryPoints: {app: "src/main.ts", editor: "src/parts/editor.ts", style: "src/style.css"},
  bundle: true,
  format: "esm",
  minify: true,
  target: "es2022",
  legalComments: "none",
  entryNames: "[name]-[hash]",
  outdir: out,
  external: ["/static/*"],
  metafile: true,
  write: false,
});

rmSync(out, {recursive: true, force: true});
mkdirSync(out, {recursive: true});
const names = {};
for (const file of result.outputFiles) {
  const name = file.path.split("/").pop();
  names[name.replace(/-[A-Z0-9]{8}\./, ".")] = name;
  writeFileSync(file.path, file.contents);
}
writeFileSync(
  join(out, "index.html"),
  `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="netloom-editor" content="/static/${names["editor.js"]}">
<meta name="netloom-sources" content="${sourceDigest()}">
<title>netloom</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/static/${names["style.css"]}">
<script type="module" src="/static/${names["app.js"]}"></script>
</head>
<body><div id="page"></div><noscript>netloom serve needs JavaScript.</noscript></body>
</html>
`,
);
writeFileSync(join(out, "LICENSES.txt"), licences(result.metafile.inputs).join("\n----\n\n"));
