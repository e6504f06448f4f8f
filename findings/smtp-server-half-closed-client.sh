#!/usr/bin/env bash
# smtp-server gives no reply to a client that ends its sending direction right after the message, as exim does with a lone mail.
#
# Package: smtp-server 3.21.6 (npm), Node.js 20 or later.
# Expected: TCP lets one side end its direction and read on. A client that sends the final dot and then a FIN still reads the
#   reply to the message; a Node.js server does so with allowHalfOpen.
# What happens: the message is handed to onData and taken; the client sees the end of the connection instead of 250, and has to
#   send the message again. The same with allowHalfOpen on the socket: the reply is written only while readyState is "open", and
#   it is "writeOnly" then.
# Seen on 2026-11-29:
#   allowHalfOpen false: taken 1, reply to the message: none
#   allowHalfOpen true: taken 1, reply to the message: none
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
npm install --silent --no-audit --no-fund smtp-server@3.21.6 >/dev/null
cat >lone.mjs <<'JS'
import { connect } from "node:net";
import { SMTPServer } from "smtp-server";

async function send(allowHalfOpen) {
  let taken = 0;
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData(stream, _session, done) {
      stream.resume().once("end", () => setTimeout(() => done(null, `taken ${++taken}`), 100));
    },
  });
  server.on("error", () => {});
  server.server.prependListener("connection", (socket) => { socket.allowHalfOpen = allowHalfOpen; });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  const socket = connect({ port: server.server.address().port, host: "127.0.0.1", allowHalfOpen: true });
  const steps = ["EHLO h.test", "MAIL FROM:<a@x.test>", "RCPT TO:<b@y.test>", "DATA"];
  let seen = "";
  let said = "";
  const over = new Promise((ended) => {
    socket.on("data", (data) => {
      seen += data;
      said += data;
      if (!/^\d{3} .*\r\n$/m.test(said)) return;
      said = "";
      const next = steps.shift();
      if (next) socket.write(`${next}\r\n`);
      else if (seen.includes("354 ") && !socket.writableEnded) socket.end("Subject: one\r\n\r\nHello.\r\n.\r\n");
    });
    socket.on("end", ended).on("error", ended);
    setTimeout(ended, 3_000);
  });
  await over;
  await new Promise((later) => setTimeout(later, 300));
  socket.destroy();
  server.close(() => {});
  const reply = seen.split("354 ")[1]?.match(/^(?:250|4\d\d|5\d\d) .*$/m)?.[0] ?? "none";
  console.log(`allowHalfOpen ${allowHalfOpen}: taken ${taken}, reply to the message: ${reply}`);
}
await send(false);
await send(true);
process.exit(0);
JS
node lone.mjs | tee seen
diff seen - <<'SEEN'
allowHalfOpen false: taken 1, reply to the message: none
allowHalfOpen true: taken 1, reply to the message: none
SEEN
