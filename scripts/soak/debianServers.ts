/** Ports on loopback: the service's receiver, a relay for all other mail, and one for the server itself. */
export type ServerPorts = { service: number; rest: number; own: number };

/** A mail server of Debian. Scripts are for the shell of its room. */
export type DebianServer = {
  name: string;
  package: string;
  /** Configures the server and starts it, or again if it runs: mail for agents.localhost is for the service. */
  start(ports: ServerPorts): string;
  /** Sends the mail on its input. */
  send: string;
  /** Prints what waits in its queue, and nothing if it is empty. */
  queue: string;
  /** What it says about its deliveries. */
  log: string;
  /** Each attempt in the log, with the receiver's answer as first group. */
  attempt: RegExp;
  /** Where the log shows that a delivery was encrypted. */
  encrypted: RegExp;
  /** Takes mail at its own port, as its package sets it up. */
  takesMail?: true;
};

/** Ends the daemon of an earlier start. */
const ended = (pidFile: string): string =>
  `test -e ${pidFile} && kill $(cat ${pidFile}) && while kill -0 $(cat ${pidFile}) 2>/dev/null; do sleep 0.1; done`;

const exim: DebianServer = {
  name: "exim",
  package: "exim4-daemon-light",
  start: ({ service, rest, own }) => `cat > /etc/exim4/exim4.conf <<'END'
primary_hostname = exim.customer.example
keep_environment =
disable_ipv6
local_interfaces = 127.0.0.1
daemon_smtp_ports = ${own}
acl_smtp_rcpt = accept
begin routers
all:
  driver = manualroute
  domains = *
  transport = smtp
  route_list = agents.localhost 127.0.0.1::${service} byname ; * 127.0.0.1::${rest} byname
  self = send
begin transports
smtp:
  driver = smtp
begin retry
* * F,1h,2s
END
    ${ended("/run/exim.pid")}
    exim4 -bd -q2s -oP /run/exim.pid`,
  send: "exim4 -i",
  queue: "exim4 -bp",
  log: "/var/log/exim4/mainlog",
  attempt: /^.* (?:=>|==|\*\*) \S+@agents\.localhost .*?(?:C="(\d+)|$)/gm,
  encrypted: /=> .* X=TLS/,
  takesMail: true,
};

const postfix: DebianServer = {
  name: "postfix",
  package: "postfix",
  start: ({ service, rest, own }) => `postconf -e maillog_file=/var/log/postfix.log smtp_tls_loglevel=1 \\
      'transport_maps=inline:{ { agents.localhost = smtp:[127.0.0.1]:${service} } }' 'relayhost=[127.0.0.1]:${rest}' \\
      inet_protocols=ipv4 queue_run_delay=2s minimal_backoff_time=2s
    postconf -MX smtp/inet
    postconf -Me '127.0.0.1:${own}/inet=127.0.0.1:${own} inet n - y - - smtpd'
    postfix stop; postfix start`,
  send: "sendmail -i",
  queue: "postqueue -j",
  log: "/var/log/postfix.log",
  attempt: /to=<\S+@agents\.localhost>.* status=\w+ \((\d*)/g,
  encrypted: /TLS connection established/,
  takesMail: true,
};

const openSmtpd: DebianServer = {
  name: "OpenSMTPD",
  package: "opensmtpd",
  start: ({ service }) => `cat > /etc/smtpd.conf <<'END'
listen on socket
action "service" relay host smtp://127.0.0.1:${service}
match from any for any action "service"
END
    ${ended("/run/smtpd.pid")}
    smtpd -d -v >> /var/log/smtpd.log 2>&1 & echo $! > /run/smtpd.pid
    until smtpctl show status >/dev/null 2>&1; do sleep 0.1; done`,
  send: "sendmail",
  queue: "smtpctl show queue",
  log: "/var/log/smtpd.log",
  attempt: /mta delivery .* to=<\S+@agents\.localhost> .* stat="(\d*)/g,
  encrypted: /mta tls ciphers=/,
};

const sendmail: DebianServer = {
  name: "sendmail",
  package: "sendmail-bin",
  start: ({ service }) => `cd /etc/mail
    cp service.switch-nodns service.switch
    { sed '/^MAILER_DEFINITIONS/,$d' sendmail.mc; cat <<'END'
define(\`SMART_HOST', \`esmtp:[127.0.0.1]')dnl
define(\`ESMTP_MAILER_ARGS', \`TCP $h ${service}')dnl
define(\`confDOMAIN_NAME', \`sendmail.customer.example')dnl
FEATURE(\`nocanonify')dnl
MAILER_DEFINITIONS
MAILER(\`local')dnl
MAILER(\`smtp')dnl
END
    } > own.mc
    m4 own.mc > own.cf`,
  // Without a daemon for the queue, it delivers at once.
  send: "sendmail -C /etc/mail/own.cf -Am -i -odi -v >> /var/log/sendmail.log",
  queue: "find /var/spool/mqueue -type f",
  log: "/var/log/sendmail.log",
  attempt: /^>>> \.\n(\d*)/gm,
  encrypted: /^>>> STARTTLS\n220/m,
};

export const debianServers: readonly DebianServer[] = [exim, postfix, openSmtpd, sendmail];
