/**
 * The service cannot start, and a person can do something about it. The message is complete sentences for that person; main prints it
 * without a stack and ends with exit code 1.
 */
export class StartError extends Error {
  override readonly name = "StartError";
}
