import type {
  Channel,
  ChannelAnswer,
  ChannelRequest,
  Channels,
  Conclusion,
  ShortNotice,
} from "#src/channels/channel.ts";

/**
 * A double of a chat provider's adapter that keeps its questions and conclusions: each question is a message whose buttons carry the
 * tokens until it is concluded.
 */
export function chatDouble(kind: string) {
  const asked: ChannelRequest[] = [];
  const concluded: Conclusion[] = [];
  const told: ShortNotice[] = [];
  const failures = new Map<string, ChannelAnswer[]>();
  const draftOf = ({ message }: Conclusion): string => asked[Number(message.ids[0]) - 1]?.view.draftId ?? "";
  const channel: Channel = {
    async ask(request) {
      asked.push(request);
      return { reached: true, message: { chat: kind, ids: [`${asked.length}`] } };
    },
    async conclude(conclusion) {
      const failure = failures.get(draftOf(conclusion))?.shift();
      if (failure) return failure;
      concluded.push(conclusion);
      return { reached: true };
    },
    async tell(notice) {
      told.push(notice);
      return { reached: true };
    },
  };
  return {
    channel,
    /** Posted texts that ask nothing. */
    told,
    /** The questions about a draft, the newest last. */
    askedAbout: (draftId: string) => asked.filter(({ view }) => view.draftId === draftId),
    /** The conclusion shown on the n-th question about a draft, from 0; undefined while it has its buttons. */
    saidOn(draftId: string, n = 0): string | undefined {
      const request = asked.filter(({ view }) => view.draftId === draftId)[n];
      const id = request && `${asked.indexOf(request) + 1}`;
      return concluded.findLast(({ message }) => message.ids[0] === id)?.sentence;
    },
    concluded,
    /** Sets the answers of the next attempts to conclude something about a draft. */
    failNext(draftId: string, ...answers: ChannelAnswer[]) {
      failures.set(draftId, answers);
    },
    failuresLeft: (draftId: string): number => failures.get(draftId)?.length ?? 0,
  };
}

/** Doubles of every channel. */
export const channelDoubles = (): Channels => ({
  email: chatDouble("email").channel,
  telegram: chatDouble("telegram").channel,
  slack: chatDouble("slack").channel,
});
