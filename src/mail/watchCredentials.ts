import { CredentialsRefused, type MailProvider } from "./mailProvider.ts";

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

  async function connect(caller?: { comesBack: boolean }) {
    try {
      const connection = await provider.connect(caller);
      refused = undefined;
      return connection;
    } catch (error) {
      if (error instanceof CredentialsRefused) refused = { message: error.message, lastTry: monotonic() };
      throw error;
    }
  }

  return {
    ...provider,
    connect,
    trouble() {
      if (refused && monotonic() - refused.lastTry >= tryAgainMs) {
        refused.lastTry = monotonic();
        connect({ comesBack: true }).then(
          (connection) => connection.discard(),
          () => {},
        );
      }
      return refused?.message;
    },
  };
}
