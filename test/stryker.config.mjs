import { createRequire } from "node:module";

// Stryker's mocha runner 10.0.0 requires parts of mocha without their ending, which is .cjs in mocha 12.
const { extensions } = createRequire(import.meta.url);
extensions[".cjs"] ??= extensions[".js"];

/** Every process of Stryker's reads this file first. */
const nodeArgs = ["--import", import.meta.url];

/** `npm run mutants`: finds changes of the rules with which no test fails. */
export default {
  mutate: ["streams/{draft,thread,delivery,quota}/*.ts"],
  // The compiler finds a wrong status or type of event, and tests name the codes of refusals; nearly all other strings are sentences for people.
  mutator: { excludedMutations: ["StringLiteral"] },
  testRunner: "mocha",
  testRunnerNodeArgs: nodeArgs,
  checkerNodeArgs: nodeArgs,
  // Not those of .mocharc.json: these tests need no server.
  mochaOptions: { "no-config": true, spec: ["test/streams/**/*.test.ts"] },
  coverageAnalysis: "perTest",
  // A mutant in code that runs when a module is loaded would need all tests in a new process, which is four fifths of the time.
  ignoreStatic: true,
  // With a tsconfig.json, Stryker would need a compiler beside itself.
  ignorePatterns: ["tsconfig.json", "data", "dist"],
  tempDirName: "coverage/mutants",
  reporters: ["clear-text", "html", "json"],
  clearTextReporter: { reportMutants: false, reportTests: false },
  htmlReporter: { fileName: "coverage/mutants.html" },
  jsonReporter: { fileName: "coverage/mutants.json" },
};
