/**
 * Questions that come while others are being answered are asked together, in one statement. `atOnce` statements are under way at most, with
 * `most` questions each. A question that comes alone waits for nobody; each is asked after it came, so its answer is as fresh as if it had
 * been asked alone.
 */
export function gathered<Question, Answer>(
  askTogether: (questions: readonly Question[]) => Promise<Answer[]>,
  { atOnce, most }: { atOnce: number; most: number },
): (question: Question) => Promise<Answer> {
  type Waiting = { question: Question; resolve(answer: Answer): void; reject(error: unknown): void };
  const waiting: Waiting[] = [];
  let underWay = 0;

  async function askNext(): Promise<void> {
    const group = waiting.splice(0, most);
    underWay += 1;
    try {
      const answers = await askTogether(group.map(({ question }) => question));
      for (const [n, { resolve }] of group.entries()) resolve(answers[n] as Answer);
    } catch (error) {
      for (const { reject } of group) reject(error);
    } finally {
      underWay -= 1;
      if (waiting.length > 0) void askNext();
    }
  }

  return (question) =>
    new Promise((resolve, reject) => {
      waiting.push({ question, resolve, reject });
      if (underWay < atOnce) void askNext();
    });
}
