// @ts-check
import { relative } from "node:path";
import Mocha from "mocha";

/**
 * Mocha's spec report, with the file of each failure, and `N passed, N failed` as its last line. The exit code is 1 if anything failed, nothing ran, or
 * the run was cut short.
 */
export default class Reporter extends Mocha.reporters.Spec {
  /**
   * @param {Mocha.Runner} runner
   * @param {Mocha.MochaOptions} options
   */
  constructor(runner, options) {
    super(runner, options);
    process.exitCode = 1;
    runner.on("fail", (test) => {
      const path = test.titlePath();
      const file = relative(process.cwd(), test.file ?? "");
      test.titlePath = () => [file, ...path];
    });
  }

  /** Waits for `done`: files that could not be loaded, or whose process died, are reported after the end of the run. */
  epilogue() {}

  /**
   * @param {number} failures
   * @param {(code: number) => void} end
   */
  done(failures, end) {
    // If the setup failed, there is no run to report.
    if (this.stats.end) super.epilogue();
    console.log(`${this.stats.passes} passed, ${failures} failed`);
    end(failures > 0 || this.stats.passes === 0 ? 1 : 0);
  }
}
