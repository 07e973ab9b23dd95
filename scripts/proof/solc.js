#!/usr/bin/env node
// solcjs with the two calls that forge makes of solc: `--version`, and standard JSON from stdin to stdout.
const solc = require("solc");

if (process.argv.includes("--version")) {
  console.log(`solc, the solidity compiler\nVersion: ${solc.version()}`);
} else {
  process.stdout.write(solc.compile(require("fs").readFileSync(0, "utf8")));
}
