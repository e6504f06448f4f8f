import { expect } from "chai";
import { startupBannerLines } from "#src/start/startupBanner.ts";

describe("the text on the terminal after a start", () => {
  const config = { mailProvider: "outbox", smtpInHost: "127.0.0.1", publicUrl: "http://localhost:8080" } as const;
  const service = { url: "http://127.0.0.1:8080", smtpPort: 2525 };
  const ownerLink = "http://localhost:8080/invitation/abc";
  const said = (shown: { apiKey: string | undefined; ownerLink: string | undefined }) =>
    startupBannerLines(config, service, shown).join("\n");

  it("the terminal shows the first key once, and the first owner's invitation until the workspace has an owner", () => {
    const first = said({ apiKey: "svc_live_x", ownerLink });
    expect(first).to.contain("svc_live_x").and.to.contain(ownerLink).and.to.contain("/outbox");
    expect(first).to.contain("Console  http://localhost:8080/\n");
    const later = said({ apiKey: undefined, ownerLink });
    expect(later).to.contain(ownerLink).and.not.to.contain("API key");
    expect(said({ apiKey: undefined, ownerLink: undefined })).not.to.contain("invitation");
  });

  it("the terminal has one name for this machine", () => {
    expect(said({ apiKey: "svc_live_x", ownerLink }))
      .to.contain("Mail in  localhost:2525")
      .and.not.to.contain("127.0.0.1");
    const named = startupBannerLines(
      { ...config, smtpInHost: "mail.example" },
      { ...service, url: "http://127.0.0.10:8080" },
      { apiKey: undefined, ownerLink: undefined },
    ).join("\n");
    expect(named).to.contain("http://127.0.0.10:8080/v1").and.to.contain("mail.example:2525");
  });

  it("the terminal shows a usable address if the service listens on every one", () => {
    for (const url of ["http://0.0.0.0:8080", "http://[::]:8080", "http://[::1]:8080"]) {
      const everywhere = { ...config, smtpInHost: "0.0.0.0" };
      const lines = startupBannerLines(everywhere, { ...service, url }, { apiKey: "svc_live_x", ownerLink });
      expect(lines.join("\n")).to.contain("http://localhost:8080/v1/domains").and.to.contain("localhost:2525");
      expect(lines.join("\n")).not.to.match(/0\.0\.0\.0|\[::\]/);
    }
  });
});
