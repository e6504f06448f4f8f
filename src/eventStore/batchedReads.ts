import { setImmediate as nextTurn } from "node:timers/promises";

/**
 * Lets callers of the same read within one turn of the event loop share its answer. The read is sent in the next turn, so the answer is
 * never older than any caller's request; a later caller reads again. All sharers get the same object.
 */
export function shareReadsOfOneTurn(): <T>(question: string, send: () => Promise<T>) => Promise<T> {
  const unsent = new Map<string, Promise<unknown>>();

  async function sendNextTurn<T>(question: string, send: () => Promise<T>): Promise<T> {
    await nextTurn();
    unsent.delete(question);
    return send();
  }

  return <T>(question: string, send: () => Promise<T>): Promise<T> => {
    const answer = unsent.get(question) ?? sendNextTurn(question, send);
    unsent.set(question, answer);
    return answer as Promise<T>;
  };
}
