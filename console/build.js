// Builds console/dist from console/src. The same sources and the same lockfile give the same bytes, which the tests hold.
//   node build.js [FOLDER]
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildSync } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "dist");
const require = createRequire(import.meta.url);

mkdirSync(out, { recursive: true });
const common = {
  bundle: true,
  minify: true,
  target: ["es2022"],
  legalComments: "none",
  charset: "utf8",
  absWorkingDir: here,
};
buildSync({
  ...common,
  entryPoints: ["src/main.jsx"],
  outdir: out,
  entryNames: "console",
  chunkNames: "[name]", // what a page loads when it is first opened
  splitting: true,
  format: "esm",
  jsx: "automatic",
  jsxImportSource: "preact",
  banner: { js: "/* Heliostat console. Licences of the libraries in it: licenses.txt. */" },
});
buildSync({ ...common, entryPoints: ["src/style.css"], outfile: join(out, "console.css") });
for (const file of ["index.html", "icon.svg"]) copyFileSync(join(here, "src", file), join(out, file));

// The outlines of countries without their names: the map only draws them.
const world = JSON.parse(readFileSync(require.resolve("world-atlas/countries-110m.json"), "utf8"));
for (const geometry of world.objects.countries.geometries) {
  delete geometry.properties;
  delete geometry.id;
}
writeFileSync(join(out, "world.json"), JSON.stringify(world) + "\n");

// The licences of what is bundled ask for their text in every copy.
const bundled = ["d3-array", "d3-geo", "internmap", "preact", "topojson-client", "uplot", "world-atlas"];
const packages = bundled.map((name) => {
  const folder = join(here, "node_modules", name);
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return `${name} ${version}\n\n${readFileSync(join(folder, "LICENSE"), "utf8").trim()}\n`;
});
writeFileSync(join(out, "licenses.txt"), packages.join(`\n${"-".repeat(80)}\n\n`));
