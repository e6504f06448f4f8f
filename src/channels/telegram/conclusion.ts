import { visible } from "#src/html/visible.ts";
import { shortenText } from "#streams/cutText.ts";
import type { Conclusion } from "../channel.ts";
import { unlinkedInChat as inert } from "./inert.ts";
import { maxMessageLength, type Styled, styled } from "./styled.ts";

/** Replaces a question once its buttons no longer count. */
export function conclusionMessage({ sentence, threadSubject }: Pick<Conclusion, "sentence" | "threadSubject">): Styled {
  const subject = inert(visible(threadSubject).replace(/\s+/g, " ").trim()) || "(no subject)";
  const room = maxMessageLength - 500;
  return styled([
    { text: shortenText(subject, 400), style: "bold" },
    { text: `\n${shortenText(inert(visible(sentence).trim()), room)}` },
  ]);
}
