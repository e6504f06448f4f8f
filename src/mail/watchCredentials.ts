import { CredentialsRefused, type MailProvider, type ReadyConnection } from "./mailProvider.ts";

/** A provider that remembers whether it lets us in. */
export type WatchedProvider = MailProvider & {
  /**
   * Why no mail can leave, as long as our credentials are refused. Asking tries them again, behind its back and at most once a minute: no
   * other mail may come that would show them to be good again.
   */
  trouble(): string | undefined;
};

const tryAgainMs = 60_000;

export function watchCredentials(provider: MailProvider, { monotonic }: { monotonic(): number }): WatchedProvider {
  let refused: { message: string; lastTry: number } | undefined;

  /** Whether what it does shows that we are let in, or that we are not. */
  async function watched<T>(does: () => Promise<T>): Promise<T> {
    try {
      const done = await does();
      refused = undefined;
      return done;
    } catch (error) {
      if (error instanceof CredentialsRefused) refused = { message: error.message, lastTry: monotonic() };
      throw error;
    }
  }

  const connect = async (caller?: { comesBack: boolean }): Promise<ReadyConnection> =>
    provider.checkCredentials
      ? watchedConnection(await provider.connect(caller))
      : watched(() => provider.connect(caller));

  /** For providers whose credentials only the answer to a mail judges. */
  const watchedConnection = (connection: ReadyConnection): ReadyConnection => ({
    discard: () => connection.discard(),
    async handOver(mail, mayWrite) {
      const outcome = await connection.handOver(mail, mayWrite);
      if (outcome.kind === "accepted") refused = undefined;
      if (outcome.kind === "refused" && outcome.code === "provider_credentials")
        refused = { message: outcome.message, lastTry: monotonic() };
      return outcome;
    },
  });

  const tryAgain = (): Promise<unknown> =>
    provider.checkCredentials
      ? watched(() => provider.checkCredentials!())
      : connect({ comesBack: true }).then((connection) => connection.discard());

  return {
    ...provider,
    connect,
    trouble() {
      if (refused && monotonic() - refused.lastTry >= tryAgainMs) {
        refused.lastTry = monotonic();
        tryAgain().catch(() => {});
      }
      return refused?.message;
    },
  };
}
