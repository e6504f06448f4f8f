import { CredentialsRefused, type MailProvider, type ReadyConnection } from "./mailProvider.ts";

/** A provider that remembers whether it accepts our credentials. */
export type WatchedProvider = MailProvider & {
  /**
   * Reason why no mail can be sent while our credentials are refused. Calling it also retries them in the background, at most once a
   * minute: no other mail may come that would show them to be valid again.
   */
  trouble(): string | undefined;
};

const tryAgainMs = 60_000;

export function watchCredentials(provider: MailProvider, { monotonic }: { monotonic(): number }): WatchedProvider {
  let refused: { message: string; lastTry: number } | undefined;

  /** Records whether the result shows that our credentials are accepted or refused. */
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

  /** For providers that check credentials only when a mail is handed over. */
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
