/**
 * A stream from a revision on, so many events at most (undefined: all of them), up to the one that makes it so many bytes. `from` undefined: its
 * last event, with `count` 1.
 */
export type Wanted = { stream: string; from: number | undefined; count: number | undefined; bytes?: number };

export type GroupingOptions<Row> = {
  /** One stream, whole. */
  alone: (wanted: Wanted) => Promise<Row[]>;
  /** Several at once: of each its rows in order, `each` at most, whatever their bytes; undefined where that is too much for a group. */
  together: (wanted: readonly Wanted[], each: number) => Promise<(Row[] | undefined)[]>;
};

/** Groups under way at once. */
const mostUnderWay = 4;
const mostTogether = 16;
/** What is asked for while a group is under way gathers until that is back, so long at most: one that hangs holds nobody up. */
const gatherMs = 4;
/** Of the event loop, where none is under way: those that woke with the first ask within a few. */
const turnsToGather = 3;
/** Events of one stream in a group. Most reads ask for what is new, which is little: one with more to say is read alone. */
const fewEvents = 10;

type Waiting<Row> = { wanted: Wanted; resolve: (rows: Row[]) => void; reject: (error: unknown) => void };

/**
 * Reads of streams that are asked for at the same time go to the server as one: a round trip costs more than what it brings. Each is asked
 * after its caller has asked, so it says what was so then or later. A group that fails fails for each of its members.
 */
export function groupingReads<Row>({ alone, together }: GroupingOptions<Row>): (wanted: Wanted) => Promise<Row[]> {
  let waiting: Waiting<Row>[] = [];
  let underWay = 0;
  let planned: NodeJS.Immediate | undefined;
  let gathering: NodeJS.Timeout | undefined;

  async function readGroup(group: readonly Waiting<Row>[]): Promise<void> {
    const found = await together(
      group.map(({ wanted }) => wanted),
      fewEvents,
    );
    group.forEach(({ wanted, resolve, reject }, index) => {
      const rows = found[index];
      if (rows && (rows.length < fewEvents || rows.length === wanted.count)) resolve(rows);
      else alone(wanted).then(resolve, reject);
    });
  }

  async function send(group: readonly Waiting<Row>[]): Promise<void> {
    underWay += 1;
    try {
      if (group.length > 1) await readGroup(group);
      else for (const { wanted, resolve } of group) resolve(await alone(wanted));
    } catch (error) {
      for (const { reject } of group) reject(error);
    } finally {
      underWay -= 1;
      plan();
    }
  }

  function plan(): void {
    if (planned || waiting.length === 0 || underWay >= mostUnderWay) return;
    if (underWay === 0 || waiting.length >= mostTogether) inTurns(turnsToGather);
    else gathering ??= setTimeout(begin, gatherMs);
  }

  function inTurns(turns: number): void {
    planned = setImmediate(() => (turns > 1 ? inTurns(turns - 1) : begin()));
  }

  function begin(): void {
    clearImmediate(planned);
    clearTimeout(gathering);
    planned = gathering = undefined;
    if (underWay >= mostUnderWay) return;
    const group = waiting.slice(0, mostTogether);
    waiting = waiting.slice(mostTogether);
    void send(group);
    plan();
  }

  return (wanted) =>
    new Promise((resolve, reject) => {
      waiting.push({ wanted, resolve, reject });
      plan();
    });
}
