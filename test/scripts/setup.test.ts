import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect } from "chai";
import { parse } from "dotenv";
import { parse as parseYaml } from "yaml";
import { loadConfig } from "#src/settings/config.ts";
import { settingDescriptions } from "#src/settings/settings.ts";
import { composeVariables, envExample, writeEnvFile } from "../../scripts/support/envFile.ts";
import { envOf } from "../../scripts/support/setupAnswers.ts";

const run = promisify(execFile);

describe("npm run setup", () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "countersign-setup-"));
    file = join(folder, ".env");
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const answers = {
    domain: "mail.example.com",
    "mail-provider": "smtp",
    "smtp-url": "smtp://agent:p$SSWORD@relay.example.com:587",
    "approvals-from": "approvals@mail.example.com",
  };
  const fresh = { before: {}, eventStore: false };
  const setup = (...args: string[]) =>
    run(process.execPath, ["--import", "tsx", "scripts/setup.ts", "--file", file, ...args]).then(
      ({ stdout }) => stdout,
      ({ stderr }) => stderr,
    );

  it("npm run setup writes what docker-compose.yml needs, with new secrets, readable by its owner alone", async () => {
    const said = await setup(...Object.entries(answers).flatMap(([flag, value]) => [`--${flag}`, value]));
    expect(said).to.include("docker compose up -d").and.to.include("workspace create");
    const env = parse(await readFile(file));
    expect(env).to.include({
      PUBLIC_URL: "https://mail.example.com",
      SMTP_URL: answers["smtp-url"],
      SMTP_PUBLISH: "25",
    });
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    expect(loadConfig(env).production).to.equal(true);
    const compose = await readFile("docker-compose.yml", "utf8");
    const needed = [...compose.matchAll(/\$\{(\w+):\?/g)].map(([, name = ""]) => name);
    expect(needed).to.include.members(["POSTGRES_OWNER_PASSWORD", "SECRETS_KEYS"]);
    expect(env).to.include.all.keys(...needed);
    expect(said).not.to.include(`${env.POSTGRES_OWNER_PASSWORD}`);
  });

  it("npm run setup changes no existing file unless told to, and then keeps its secrets", async () => {
    await writeFile(file, "SECRETS_KEYS=mine\n");
    expect(await setup("--domain", "other.example.com"))
      .to.include("is there already")
      .and.to.include("--overwrite");
    expect(await readFile(file, "utf8")).to.equal("SECRETS_KEYS=mine\n");
    const before: Record<string, string> = { ...envOf(answers, fresh), LOG_LEVEL: "warn" };
    const after = envOf({ ...answers, domain: "other.example.com" }, { before, eventStore: true });
    expect(after).to.include({ PUBLIC_URL: "https://other.example.com", LOG_LEVEL: "warn" });
    for (const name of ["SECRETS_KEYS", "POSTGRES_OWNER_PASSWORD", "POSTGRES_SERVICE_PASSWORD", "METRICS_TOKEN"])
      expect(after[name], name).to.equal(before[name]);
    expect(after.COMPOSE_PROFILES).to.equal("eventstore");
    await writeEnvFile(file, after, { overwrite: true });
    expect(parse(await readFile(file))).to.deep.equal(after);
    expect((await stat(file)).mode & 0o777).to.equal(0o600);
    expect(await readdir(folder)).to.deep.equal([".env"]);
  });

  it("npm run setup refuses what the service would refuse, and writes nothing", async () => {
    expect(await setup("--domain", "mail.example.com")).to.include("SMTP_URL has to be set with MAIL_PROVIDER=smtp");
    expect(await setup("--no-such-flag")).to.include("npm run setup -- [--domain HOST]");
    expect(await setup("--domain", "mail.example.com:8443")).to.include("--domain: expected a domain name.");
    expect(await readdir(folder)).to.deep.equal([]);
    const broken = await writeEnvFile(file, { A: "it's" }, { overwrite: false }).catch(({ message }) => message);
    expect(broken).to.include("A has a quotation mark");
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it("npm run setup requires no DNS record of localhost", async () => {
    const said = await setup("--domain", "localhost", "--mail-provider", "outbox");
    expect(said).to.include("1. docker compose up -d").and.not.to.include("DNS");
  });

  it("npm run setup shows its options with --help, and writes nothing", async () => {
    const { stdout, stderr } = await run(process.execPath, ["--import", "tsx", "scripts/setup.ts", "--help"]);
    expect(stdout).to.include("npm run setup -- [--domain HOST]");
    expect(stderr).to.equal("");
  });

  it("npm run setup makes other secrets each time", () => {
    const [one, other] = [envOf(answers, fresh), envOf(answers, fresh)];
    const same = Object.keys(one).filter((name) => one[name] === other[name]);
    const made = ["SECRETS_KEYS", "POSTGRES_OWNER_PASSWORD", "POSTGRES_SERVICE_PASSWORD", "METRICS_TOKEN"];
    expect(same).not.to.include.any.members(made);
    expect(Object.keys(one)).to.include.members(made);
  });

  it(".env.example has every setting and every variable of docker-compose.yml (npm run documents writes it)", async () => {
    expect(await readFile(".env.example", "utf8")).to.equal(envExample(settingDescriptions));
    const known = [...settingDescriptions, ...composeVariables].map(({ name }) => name);
    const compose = await readFile("docker-compose.yml", "utf8");
    const read = new Set([...compose.replace(/^\s*#.*$/gm, "").matchAll(/(?<!\$)\$\{(\w+)/g)].map(([, name]) => name));
    expect(known).to.include.members([...read]);
    const unread = composeVariables.filter(({ name }) => !read.has(name) && name !== "COMPOSE_PROFILES");
    expect(unread).to.deep.equal([]);
    expect(Object.keys(parse(await readFile(".env.example")))).to.deep.equal([]);
  });

  it("EventStoreDB's services start with their profile alone, each with what it needs", async () => {
    const { services, volumes, configs } = parseYaml(await readFile("docker-compose.yml", "utf8"), { merge: true });
    const names = Object.keys(services);
    const usual = names.filter((name) => services[name].profiles === undefined);
    expect(usual).to.have.members(["countersign", "proxy", "mail", "postgres"]);
    expect(names.filter((name) => services[name].profiles?.[0] === "eventstore")).to.have.members([
      ...["eventstore", "eventstore-user", "certificates"],
    ]);
    for (const name of names) {
      if (services[name].restart === "unless-stopped")
        expect(services[name].logging, `${name} bounds its log`).to.deep.equal({ driver: "local" });
      for (const [needed, { required = true }] of Object.entries<{ required?: boolean }>(
        services[name].depends_on ?? {},
      )) {
        expect(names).to.include(needed);
        if (required && usual.includes(name)) expect(usual, `${name} needs ${needed}`).to.include(needed);
      }
      for (const volume of services[name].volumes ?? []) {
        const [from] = volume.replace(/^\$\{\w+:-([\w-]+)\}/, "$1").split(":");
        expect(Object.keys(volumes), `${name}: ${volume}`).to.include(from);
      }
      for (const { source } of services[name].configs ?? []) expect(Object.keys(configs)).to.include(source);
    }
  });
});
