import type { Logger } from "pino";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import {
  CredentialsRefused,
  type MailProvider,
  NoRoom,
  NotConnected,
  ProviderBusy,
  type ReadyConnection,
} from "./mailProvider.ts";

/** A provider that remembers why no mail can be sent. */
export type WatchedProvider = MailProvider & {
  /**
   * Reason why no mail can be sent; `ready` with it if it may pass without the operator. Calling it also tries again in the background, at
   * most once a minute: no mail may come that would show that the reason is gone.
   */
  trouble(): string | { ready: string } | undefined;
};

const tryAgainMs = 60_000;

/** Watches what comes of connections and hand-overs, and logs the reason why no mail can be sent once, whenever it changes. */
export function watchProvider(
  provider: MailProvider,
  { monotonic, log }: { monotonic(): number; log: Pick<Logger, "info" | "warn"> },
): WatchedProvider {
  let refused: CredentialsRefused | undefined;
  let notReached: Unavailable | undefined;
  let lastTry = 0;
  let logged: string | undefined;

  function logChange(): void {
    const reason = refused ?? notReached;
    const kind = kindOf(reason);
    if (kind === logged) return;
    logged = kind;
    if (reason) log.warn({ because: reason.message }, "the mail provider cannot be used, retrying");
    else log.info("the mail provider can be used again");
  }

  function failed(error: unknown): void {
    lastTry = monotonic();
    if (error instanceof CredentialsRefused) [refused, notReached] = [error, undefined];
    else if (error instanceof NoRoom) notReached = (error.away && error.lastFailure) || notReached;
    else if (error instanceof Unavailable) notReached = error;
    logChange();
  }

  /** `signedIn`: true if our credentials were accepted too. */
  function succeeded({ signedIn }: { signedIn: boolean }): void {
    notReached = undefined;
    if (signedIn) refused = undefined;
    logChange();
  }

  async function connect(caller?: { comesBack: boolean }): Promise<ReadyConnection> {
    try {
      const connection = await provider.connect(caller);
      succeeded({ signedIn: !provider.checkCredentials });
      return watched(connection);
    } catch (error) {
      failed(error);
      throw error;
    }
  }

  /** For providers that check credentials only when a mail is handed over. */
  const watched = (connection: ReadyConnection): ReadyConnection => ({
    discard: () => connection.discard(),
    async handOver(mail, mayWrite) {
      const outcome = await connection.handOver(mail, mayWrite);
      if (outcome.kind === "accepted") succeeded({ signedIn: true });
      if (outcome.kind === "refused" && outcome.code === "provider_credentials")
        failed(new CredentialsRefused(outcome.message));
      return outcome;
    },
  });

  async function tryAgain(): Promise<void> {
    if (refused && provider.checkCredentials)
      await provider.checkCredentials().then(() => succeeded({ signedIn: true }), failed);
    else (await connect({ comesBack: true })).discard();
  }

  return {
    ...provider,
    connect,
    trouble() {
      const reason = refused ?? notReached;
      if (reason && monotonic() - lastTry >= tryAgainMs) {
        lastTry = monotonic();
        tryAgain().catch(() => {});
      }
      if (!reason) return undefined;
      const lasts = reason instanceof CredentialsRefused || (reason instanceof NotConnected && reason.lasts);
      return lasts ? reason.message : { ready: reason.message };
    },
  };
}

/** Names the reason without the provider's words. */
function kindOf(reason: Unavailable | undefined): string | undefined {
  if (reason instanceof NotConnected) return reason.kind;
  return reason instanceof ProviderBusy ? reason.name : reason?.message;
}
