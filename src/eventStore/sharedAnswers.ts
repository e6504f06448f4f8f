type Asked = { answer: Promise<unknown>; next?: Promise<unknown> };

/**
 * Questions that are asked again while they are under way: all who ask meanwhile share the answer to the next one, which is asked when
 * this one is answered. So nobody is told what was so before they asked, and a stream that a hundred look at at once is read twice. The
 * answer is the same object for all. `mostWaitMs`: no longer than this anybody waits for a question that was asked before.
 */
export function sharingAnswers({ mostWaitMs = 100 } = {}): <T>(question: string, ask: () => Promise<T>) => Promise<T> {
  const underWay = new Map<string, Asked>();

  function begin<T>(question: string, ask: () => Promise<T>): Promise<T> {
    const answer = ask();
    const asked: Asked = { answer };
    underWay.set(question, asked);
    const forget = (): void => {
      if (underWay.get(question) === asked && !asked.next) underWay.delete(question);
    };
    answer.then(forget, forget);
    return answer;
  }

  return <T>(question: string, ask: () => Promise<T>): Promise<T> => {
    const asked = underWay.get(question);
    if (!asked) return begin(question, ask);
    asked.next ??= settled(asked.answer, mostWaitMs).then(() => begin(question, ask));
    return asked.next as Promise<T>;
  };
}

/** One that hangs does not make others hang. */
function settled(answer: Promise<unknown>, withinMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, withinMs);
    const done = (): void => {
      clearTimeout(timer);
      resolve();
    };
    answer.then(done, done);
  });
}
