/** Nothing can be read now: no thread can be started, or the threads are closed. It says nothing of the mail. */
export class ReadersAway extends Error {
  override readonly name = "ReadersAway";
}
