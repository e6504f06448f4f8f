import type { ApprovalView } from "#src/channels/approvalView.ts";
import type { VersionView } from "#src/channels/approvalWarnings.ts";
import type { ReviewCard } from "#src/channels/card/reviewCard.ts";
import type { LetterToRead, ReadableLetter } from "#src/channels/readableLetter.ts";
import type { Difference } from "#src/html/compare/compareReadings.ts";
import type { compareVersions } from "#src/html/compare/compareVersions.ts";
import type { reduceBody } from "#src/html/reduce/reduceBody.ts";
import type { Sanitised } from "#src/html/sanitise.ts";
import type { VersionWarning } from "#streams/draft/warnings.ts";
import type { Search } from "./searchText.ts";

/** Work that takes long for long texts: a function between plain data. */
export type CostlyFunction<Input, Result> = {
  /** Loads the function where it is needed: mostly in threads only. */
  load(): Promise<(input: Input) => Result>;
  /** Returns the number of characters that it works on. */
  size(input: Input): number;
  /** Maximum size of an input that takes at most 10 ms in the worst case: it is processed immediately, on the event loop. */
  smallSize: number;
  /**
   * Maximum size of an input for the quick lane. A larger one may take longer than a first attempt: it goes to the slow lane, and the other
   * thread stays free for quick jobs.
   */
  quickSize: number;
};

/** Checks and keeps the functions' types. */
const work = <Input, Result>(of: CostlyFunction<Input, Result>): CostlyFunction<Input, Result> => of;

const lengthOf = (...texts: (string | null | undefined)[]): number =>
  texts.reduce((sum, text) => sum + (text?.length ?? 0), 0);

const charactersOf = (content: LetterToRead["content"]): number =>
  lengthOf(content.body_text, content.body_html, content.signature_text, content.signature_html);

/** Reading HTML from its beginning to its end takes 2.5 ms for each 1,000 characters at worst. */
const reading = { smallSize: 4_000, quickSize: 64_000 };
/** Comparing two texts takes the square of their difference, up to a bound that 4,000 characters can reach. */
const sideBySide = { smallSize: 600, quickSize: 2_000 };
/** Characters of reading that take as long as comparing one. */
const readingEach = reading.smallSize / sideBySide.smallSize;

export const costlyFunctions = {
  compareVersions: work<Parameters<typeof compareVersions>[0], ReturnType<typeof compareVersions>>({
    load: async () => (await import("#src/html/compare/compareVersions.ts")).compareVersions,
    size: ({ from, to }) =>
      charactersOf(from.content) + charactersOf(to.content) + lengthOf(from.rationale, to.rationale),
    ...sideBySide,
  }),
  /** Finds words that are in the HTML and not in the text part, and the reverse. */
  compareReadings: work<{ html: string; text: string }, Difference | null>({
    load: async () => {
      const { compareReadings } = await import("#src/html/compare/compareReadings.ts");
      return ({ html, text }) => compareReadings(html, text);
    },
    size: ({ html, text }) => lengthOf(html, text),
    ...sideBySide,
  }),
  picturesNamed: work<string, string[]>({
    load: async () => (await import("#src/html/reduce/reduceHtml.ts")).picturesNamed,
    size: (html) => html.length,
    ...reading,
  }),
  reduceBody: work<Parameters<typeof reduceBody>[0], ReturnType<typeof reduceBody>>({
    load: async () => (await import("#src/html/reduce/reduceBody.ts")).reduceBody,
    size: ({ html }) => html.length,
    ...reading,
  }),
  /** Sanitises HTML for a frame of the console. */
  sanitise: work<string, Sanitised>({
    load: async () => (await import("#src/html/sanitise.ts")).sanitise,
    size: (html) => html.length,
    ...reading,
  }),
  textOfBody: work<string, string>({
    load: async () => (await import("#src/html/letter/plainText.ts")).textOfBody,
    size: (html) => html.length,
    ...reading,
  }),
  /** Searching for a long part takes 30 ms for 1,000,000 characters. */
  searchText: work<Search, Map<string, boolean>>({
    load: async () => (await import("./searchText.ts")).searchText,
    size: ({ text, questions }) => text.length * questions.size,
    smallSize: 300_000,
    quickSize: 6_000_000,
  }),
  readableLetter: work<LetterToRead, ReadableLetter>({
    load: async () => (await import("#src/channels/readableLetter.ts")).readableLetter,
    size: ({ content }) => charactersOf(content),
    ...reading,
  }),
  reviewCard: work<ApprovalView, ReviewCard>({
    load: async () => (await import("#src/channels/card/reviewCard.ts")).reviewCard,
    size: (view) => {
      const { content, previous, textDerived } = view;
      const isCompared = previous !== null || (content.body_html !== null && !textDerived);
      const letters = charactersOf(content) + (previous === null ? 0 : charactersOf(previous.content));
      return (isCompared ? readingEach * letters : letters) + lengthOf(view.answers?.newText, view.answers?.quotedText);
    },
    ...reading,
  }),
  versionWarnings: work<VersionView, VersionWarning[]>({
    load: async () => (await import("#src/channels/approvalWarnings.ts")).versionWarnings,
    size: ({ content, textDerived }) =>
      (content.body_html !== null && !textDerived ? readingEach : 1) * charactersOf(content),
    ...reading,
  }),
};

export type CostlyFunctionName = keyof typeof costlyFunctions;
export type InputOf<Name extends CostlyFunctionName> = Parameters<(typeof costlyFunctions)[Name]["size"]>[0];
export type ResultOf<Name extends CostlyFunctionName> = ReturnType<
  Awaited<ReturnType<(typeof costlyFunctions)[Name]["load"]>>
>;
