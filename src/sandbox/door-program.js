/**
 * Inside a network of its own, for the command it starts: whatever comes to its port goes out by the gateway's socket, the
 * only thing of the outside that is there. And it offers the gateway connections to what the command listens on.
 *
 *   door-program.js <port> <socket> <what to ask the gateway for> <command> <argument>…
 *   door-program.js fd:<of what listens at that port> <socket> <what to ask for>
 *
 * Nothing to ask for: nothing of the command is reached from outside.
 */
import { spawn } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { constants } from 'node:os';

const [port, socket, offer, command, ...args] = process.argv.slice(2);

const join = (one, other) => {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ]) {
    from.pipe(to);
    from.on('error', () => to.destroy());
    // One that ended has ended the other; one that broke off has not.
    from.once('close', () => from.readableEnded || to.destroy());
  }
};

const out = () => connect({ path: socket, allowHalfOpen: true });

function offerConnection() {
  const outside = out();
  outside.on('error', () => {});
  outside.write(`CONNECT ${offer} HTTP/1.1\r\nhost: ${offer}\r\n\r\n`);
  let said = Buffer.alloc(0);
  outside.on('data', function hear(chunk) {
    said = Buffer.concat([said, chunk]);
    const [, wanted] = /^HTTP\/1\.1 200 [^\r]*\r\n\r\n(\d+)\n/.exec(said.toString('latin1')) ?? [];
    if (wanted === undefined) return;
    outside.off('data', hear);
    outside.pause();
    const rest = said.subarray(said.indexOf('\r\n\r\n') + 4 + wanted.length + 1);
    const inside = connect({ port: Number(wanted), host: '127.0.0.1', allowHalfOpen: true });
    if (rest.length > 0) inside.write(rest);
    join(outside, inside);
    offerConnection();
  });
}

const [, listening] = /^fd:(\d+)$/.exec(port) ?? [];
createServer({ allowHalfOpen: true }, (client) => join(client, out())).listen(
  listening ? { fd: Number(listening) } : { port: Number(port), host: '127.0.0.1' },
  () => {
    if (offer !== '') offerConnection();
    if (command === undefined) return;
    const child = spawn(command, args, { stdio: 'inherit' });
    child.once('error', (error) => {
      process.stderr.write(`${error.message}\n`);
      process.exit(error.code === 'EACCES' ? 126 : 127);
    });
    child.once('exit', (code, signal) => process.exit(signal ? 128 + constants.signals[signal] : code));
  },
);
