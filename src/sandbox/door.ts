/** How a confined command is started behind a door of the gateway, and told so. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Way } from '../core/role.ts';
import type { Command } from './sandbox.ts';

export const DOOR = fileURLToPath(new URL('./door-program.js', import.meta.url));

/** The door first, and then the command. */
export const throughDoor = ({ port, socket, offer }: Way, argv: readonly string[]): string[] => [
  ...[process.execPath, DOOR, String(port), socket, offer ?? ''],
  ...argv,
];

/**
 * The command at once, where the system has perl, which starts in a twentieth of the time: it listens, and whoever connects waits until the
 * door is there. Where nothing of the command is reached from outside, the door waits for the first of them.
 */
export function besideDoor(way: Way, { argv, env }: Pick<Command, 'argv' | 'env'>): Started {
  if (!existsSync(PERL) || MISLEADING.some((name) => env[name] !== undefined))
    return { argv: throughDoor(way, argv), env: {} };
  const { port, socket, offer } = way;
  const door = [process.execPath, DOOR, socket, offer ?? ''];
  // perl takes this away again, from all that it starts.
  return { argv: [PERL, '-e', LISTEN, String(port), ...door, ...argv], env: { PERL_BADLANG: '0' } };
}

interface Started {
  argv: string[];
  /** What is added to the command's own. */
  env: Record<string, string>;
}

const PERL = '/usr/bin/perl';
/** Of the command's environment, what would make it another program. */
const MISLEADING = ['PERL5OPT', 'PERL5DB', 'PERL_UNICODE', 'PERLIO'];

/** Without modules, which would take longer than all of it. The door is nobody's child: a command may wait for its own. */
const LISTEN = `
my ($port, $node, $program, $socket, $offer, @command) = @ARGV;
delete $ENV{PERL_BADLANG};
sub failed { print STDERR "door: $!\\n"; exit 126 }
socket(my $port_inside, 2, 1, 0) or failed;
bind($port_inside, pack("S n a4 x8", 2, $port, "\\x7f\\0\\0\\1")) or failed;
listen($port_inside, 128) or failed;
my $between = fork;
defined $between or failed;
if ($between == 0) {
  my $door = fork;
  exit(defined $door ? 0 : 1) if !defined $door || $door;
  setpgrp(0, 0);
  open STDIN, "<", "/dev/null";
  open STDOUT, ">", "/dev/null";
  open STDERR, ">", "/dev/null";
  delete $ENV{$_} for grep { /^NODE_/ } keys %ENV;
  fcntl($port_inside, 2, 0);
  if ($offer eq "") {
    my $first = "";
    vec($first, fileno($port_inside), 1) = 1;
    select($first, undef, undef, undef);
  }
  exec { $node } $node, $program, "fd:" . fileno($port_inside), $socket, $offer;
  exit 1;
}
waitpid($between, 0);
failed if $?;
exec { $command[0] } @command;
my $why = $! + 0;
print STDERR "$command[0]: $!\\n";
exit($why == 13 ? 126 : 127);
`;

/** Where to go out; options that a toolchain is given besides stay as they are. */
export const told = (way: Way, env: Command['env']): Record<string, string> => ({
  ...way.env,
  ...(env.JAVA_TOOL_OPTIONS && {
    JAVA_TOOL_OPTIONS: `${env.JAVA_TOOL_OPTIONS} ${way.env.JAVA_TOOL_OPTIONS ?? ''}`,
  }),
});
