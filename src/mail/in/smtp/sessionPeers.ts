import type { MailRefusal } from "#src/platform/metrics/metrics.ts";
import type { ConnectionPeer } from "./connectionGate.ts";
import type { PublicLimits } from "./limits.ts";

/** The client of a session, with what may end it. */
type SessionPeer = ConnectionPeer & { unknownRecipients: number; receiving: boolean; overdue: boolean; left(): void };

/** The open sessions by id. */
export type SessionPeers = {
  /** Adds a session. `onLeft` is called once, when it ends. */
  enter(id: string, visitor: ConnectionPeer, onLeft: () => void): void;
  leave(id: string): void;
  get(id: string): Readonly<ConnectionPeer> | undefined;
  /** While a mail is received or stored, its session is ended only because of that mail. */
  whileReceiving<T>(id: string, work: () => Promise<T>): Promise<T>;
  namedNobody(id: string): void;
  tooSlow(id: string): void;
  /** Ends all sessions; a session that is receiving a mail ends when the mail is stored. */
  close(): void;
};

export function createSessionPeers(options: {
  limits: PublicLimits;
  showOut(id: string, sentence: string): void;
  onRefused(reason: MailRefusal): void;
}): SessionPeers {
  const { limits, showOut, onRefused } = options;
  const guests = new Map<string, SessionPeer>();
  let closing = false;

  function overdue(id: string): void {
    const guest = guests.get(id);
    if (!guest) return;
    guest.overdue = true;
    if (!guest.receiving) showOut(id, "This session has lasted too long, please connect again");
  }

  return {
    enter(id, visitor, onLeft) {
      const deadline = visitor.key === undefined ? undefined : setTimeout(() => overdue(id), limits.sessionMs);
      const left = (): void => {
        clearTimeout(deadline);
        onLeft();
      };
      guests.set(id, { ...visitor, unknownRecipients: 0, receiving: false, overdue: false, left });
    },

    leave(id) {
      guests.get(id)?.left();
      guests.delete(id);
    },

    get: (id) => guests.get(id),

    async whileReceiving(id, work) {
      const guest = guests.get(id);
      if (guest) guest.receiving = true;
      try {
        return await work();
      } finally {
        if (guest) guest.receiving = false;
        // After the reply has been sent.
        if (closing || guest?.overdue) setImmediate(() => showOut(id, "Goodbye"));
      }
    },

    namedNobody(id) {
      const guest = guests.get(id);
      if (guest?.key === undefined || ++guest.unknownRecipients < limits.unknownRecipients) return;
      onRefused("unknown_recipients");
      showOut(id, "Too many unknown recipients");
    },

    tooSlow(id) {
      onRefused("too_slow");
      showOut(id, "Too slow, please try again later");
    },

    close() {
      closing = true;
      for (const [id, { receiving }] of guests) if (!receiving) showOut(id, "Goodbye");
    },
  };
}
