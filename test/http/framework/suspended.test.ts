import { type ChildProcess, spawn } from "node:child_process";
import { createInterface, type Interface } from "node:readline";
import { expect } from "chai";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { nodeArguments } from "../../../scripts/support/childProcess.ts";
import { keyId, validKey } from "./support.ts";

type Instance = { child: ChildProcess; url: string; lines: Interface };

describe("revocation while an instance is stopped", () => {
  let created: TestDatabase;
  const instances: Instance[] = [];

  before(async () => {
    created = await createTestDatabase();
  });
  after(async () => {
    for (const { child } of instances) child.kill("SIGKILL");
    await created.drop();
  });

  async function start(): Promise<Instance> {
    const child = spawn(process.execPath, nodeArguments("test/http/framework/instance.ts"), {
      env: { ...process.env, SERVICE_URL: created.serviceUrl },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const lines = createInterface(child.stdout!);
    const instance = { child, url: await nextLine(lines), lines };
    instances.push(instance);
    return instance;
  }

  const nextLine = (lines: Interface): Promise<string> => new Promise((resolve) => lines.once("line", resolve));
  const headers = { Authorization: `Bearer ${validKey}` };
  const statusOf = async (url: string, method = "GET") => (await fetch(url, { method, headers })).status;

  it("a revocation does not wait for a stopped instance, which answers only 401 when it continues", async () => {
    const here = await start();
    const there = await start();
    const entered = nextLine(there.lines);
    const parked = statusOf(`${there.url}/v1/parked`);
    await entered;
    there.child.kill("SIGSTOP");
    const deleted = await fetch(`${here.url}/v1/keys/${keyId}`, { method: "DELETE", headers });
    expect([deleted.status, await deleted.text()]).to.deep.equal([200, "true"]);
    const sentMeanwhile = Array.from({ length: 20 }, () => statusOf(`${there.url}/v1/quick`));
    const opened = statusOf(`${there.url}/v1/gate`, "POST");
    there.child.kill("SIGCONT");
    expect(new Set(await Promise.all([parked, ...sentMeanwhile]))).to.deep.equal(new Set([401]));
    expect(await opened).to.equal(200);
  });
});
