// Draws the state machines of protocols: states.dot of each protocol's folder becomes states.svg beside it.
// Needs Node and, in a folder on its search path, `npm install @viz-js/viz@3.31.0` (Graphviz as WebAssembly, MIT).
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const { instance } = createRequire(join(process.cwd(), "package.json"))("@viz-js/viz");
const protocols = new URL("../../crates/core/protocols/", import.meta.url).pathname;
const viz = await instance();
for (const name of readdirSync(protocols)) {
    const dot = join(protocols, name, "states.dot");
    if (!existsSync(dot)) continue;
    const text = readFileSync(dot, "utf8");
    const hash = createHash("sha256").update(text).digest("hex");
    const svg = viz.renderString(text, { format: "svg" });
    writeFileSync(join(protocols, name, "states.svg"), `${svg.trimEnd()}\n<!-- states.dot: sha256 ${hash} -->\n`);
}
