import { spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

/**
 * A file system over this machine's, with its own processes. What is installed, written or started in it is not seen outside, and ends
 * with it. The network is the machine's.
 */
export type DebianRoom = {
  /** Runs a script of the shell; resolves with its output. Throws an Error whose message is the last line of it. */
  run(script: string): Promise<string>;
  close(): Promise<void>;
};

/**
 * Mounts the file system, and starts a shell in it that reads its commands from its input. That shell is not the room's first process: exim
 * takes itself for a restarted daemon if its parent is.
 */
const enter = `cd "$1"
  mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
  mount -t proc proc root/proc
  mount --rbind /dev root/dev
  chroot root sh
  exit`;

/** Opens a room with its files in `directory`. It needs Linux and root: without them, the first script fails. */
export async function openDebianRoom(directory: string): Promise<DebianRoom> {
  for (const folder of ["upper", "work", "root"]) await mkdir(join(directory, folder), { recursive: true });
  const shell = spawn("unshare", ["--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", enter, "sh", directory]);
  let received = "";
  let look = (): void => {};
  const ended = new Promise<void>((resolve) => {
    shell.once("error", (error) => {
      received += error.message;
      resolve();
    });
    shell.once("close", () => resolve());
  });
  shell.stdin.on("error", () => {});
  for (const stream of [shell.stdout, shell.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      received += text;
      look();
    });

  return {
    async run(script) {
      const done = /^--- done (\d+)\n/m;
      const over = new Promise<void>((resolve) => {
        look = () => done.test(received) && resolve();
      });
      shell.stdin.write(`(\n${script}\n) </dev/null 2>&1\ncode=$?; echo; echo "--- done $code"\n`);
      await Promise.race([over, ended]);
      const [mark, code = "1"] = done.exec(received) ?? [];
      const output = received.slice(0, mark === undefined ? undefined : received.indexOf(mark)).trim();
      received = "";
      if (code !== "0") throw new Error(output.split("\n").at(-1) || `it ended with ${code}`);
      return output;
    },
    async close() {
      shell.kill("SIGKILL");
      await ended;
    },
  };
}

/**
 * Installs a package as Debian sets it up, starting nothing. Then no name leads out of this machine any more, and the machine's own has a
 * domain, for which sendmail would wait a minute.
 */
export const install = (name: string): string => `set -e
  export DEBIAN_FRONTEND=noninteractive
  printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d
  chmod +x /usr/sbin/policy-rc.d
  apt-get update -qq || true
  apt-get install -y -qq --no-install-recommends ${name}
  echo 'nameserver 127.0.0.1' > /etc/resolv.conf
  sed -i 's/^hosts:.*/hosts: files/' /etc/nsswitch.conf
  echo "127.0.0.1 localhost mx.customer.example $(hostname)" > /etc/hosts`;
