import type { compareVersions } from "#src/html/compare/compareVersions.ts";
import type { DraftContent } from "#streams/draft/content.ts";

/** Work that takes long where people write much: a function from a value to a value, both of them plain data. */
type Work<Input, Result> = {
  /** Loaded where it is needed: most of it is needed in threads alone. */
  load(): Promise<(input: Input) => Result>;
  /** Characters that it works on. */
  size(input: Input): number;
  /** Up to this size even the worst input takes 10 ms: it is done at once, on the event loop. */
  smallSize: number;
  /** Above this size it may take longer than a first try: it goes to the one slow place, and the other thread stays free for what is quick. */
  quickSize: number;
};

/** Checks the functions' types, and keeps them. */
const work = <Input, Result>(of: Work<Input, Result>): Work<Input, Result> => of;

const lengthOf = (...texts: (string | null | undefined)[]): number =>
  texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);

const charactersOf = (content: DraftContent): number =>
  lengthOf(content.body_text, content.body_html, content.signature_text, content.signature_html);

/** Laying two texts side by side takes the square of what differs, up to a bound that 4,000 characters can reach. */
const sideBySide = { smallSize: 600, quickSize: 2_000 };

export const works = {
  compareVersions: work<Parameters<typeof compareVersions>[0], ReturnType<typeof compareVersions>>({
    load: async () => (await import("#src/html/compare/compareVersions.ts")).compareVersions,
    size: ({ from, to }) =>
      charactersOf(from.content) + charactersOf(to.content) + lengthOf(from.rationale, to.rationale),
    ...sideBySide,
  }),
};

export type WorkName = keyof typeof works;
export type InputOf<Name extends WorkName> = Parameters<(typeof works)[Name]["size"]>[0];
export type ResultOf<Name extends WorkName> = ReturnType<Awaited<ReturnType<(typeof works)[Name]["load"]>>>;
