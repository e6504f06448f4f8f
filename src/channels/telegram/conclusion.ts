import { visible } from "#src/html/visible.ts";
import type { Conclusion } from "../channel.ts";
import { unlinkedInChat as inert } from "./inert.ts";
import { maxMessageLength, type Styled, styled } from "./styled.ts";

/** Replaces a question once its buttons no longer count. */
export function conclusionMessage({ sentence, threadSubject }: Pick<Conclusion, "sentence" | "threadSubject">): Styled {
  const subject = inert(visible(threadSubject).replace(/\s+/g, " ").trim()) || "(no subject)";
  const room = maxMessageLength - 500;
  return styled([
    { text: clipped(subject, 400), style: "bold" },
    { text: `\n${clipped(inert(visible(sentence).trim()), room)}` },
  ]);
}

const clipped = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "")}…`;
