/**
 * The loop as a systemd unit of its user, one per repository: it starts with the machine and again after a crash. Only the
 * file is written here; whoever reads it first enables it.
 */
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import type { Context } from '../context.ts';
import { UserError } from '../errors.ts';

interface Service {
  name: string;
  file: string;
  /** Where variables of the service are read from, one `NAME=value` a line; it need not be there. */
  environment: string;
  /** Commands to give next, in order. */
  next: string[];
}

export async function installService(context: Context, { program }: { program: string }): Promise<Service> {
  const service = await serviceOf(context);
  const { file, environment, name } = service;
  refuseForeign(file);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(
    file,
    unitText({
      root: context.root,
      config: context.configPath,
      command: [process.execPath, program],
      environment,
      variables: ['PATH', 'XDG_STATE_HOME'].flatMap((key) => {
        const value = process.env[key];
        return value ? [`${key}=${value}`] : [];
      }),
    }),
  );
  return {
    ...service,
    next: [
      'systemctl --user daemon-reload',
      `systemctl --user enable --now ${name}`,
      'loginctl enable-linger   # it keeps running after you log out',
      `journalctl --user --unit ${name} --follow`,
    ],
  };
}

export async function removeService(context: Context): Promise<Service> {
  const service = await serviceOf(context);
  if (!existsSync(service.file))
    throw new UserError(`There is no service here: ${service.file} does not exist.`, null);
  refuseForeign(service.file);
  // Newer versions of systemd disable nothing whose file is gone.
  if (isEnabled(service))
    throw new UserError(
      `${service.name} is still enabled.`,
      `Disable it first: systemctl --user disable --now ${service.name}`,
    );
  rmSync(service.file);
  return { ...service, next: ['systemctl --user daemon-reload'] };
}

/** `systemctl enable` links it here; see WantedBy. */
const isEnabled = ({ file, name }: Service): boolean =>
  lstatSync(join(dirname(file), 'default.target.wants', name), { throwIfNoEntry: false }) !== undefined;

export async function serviceOf(context: Context): Promise<Service> {
  const key = basename(dirname(dirname(dirname((await context.places()).log('task', '')))));
  const config = process.env.XDG_CONFIG_HOME || join(homedir(), '.config');
  const name = `forge-loop-${key}.service`;
  return {
    name,
    file: join(config, 'systemd', 'user', name),
    environment: join(config, 'forge-loop', `${key}.env`),
    next: [],
  };
}

const MARK = '# Written by `forge-loop service install`; the next one overwrites it.';

function refuseForeign(file: string): void {
  if (existsSync(file) && !readFileSync(file, 'utf8').startsWith(MARK))
    throw new UserError(
      `${file} was not written by forge-loop.`,
      'Move it away, or put its first line back as `service install` wrote it.',
    );
}

interface Unit {
  root: string;
  config: string;
  command: readonly string[];
  environment: string;
  variables: readonly string[];
}

function unitText({ root, config, command, environment, variables }: Unit): string {
  const call = (...args: string[]): string =>
    [...command, '-C', root, '--config', config, ...args].map(argument).join(' ');
  return `${MARK}
[Unit]
Description=forge-loop in ${plain(root)}
StartLimitIntervalSec=10min
StartLimitBurst=5

[Service]
WorkingDirectory=${plain(root)}
${variables.map((one) => `Environment=${quoted(one)}\n`).join('')}EnvironmentFile=-${plain(environment)}
ExecStart=${call('run')}
ExecStop=${call('stop', '--now')}
# 3 and 4: something waits for a person, or was given up. Neither is a failure of the service; 2 is a mistake of usage.
SuccessExitStatus=3 4
RestartPreventExitStatus=2
Restart=on-failure
RestartSec=30
TimeoutStopSec=2min
KillMode=mixed

[Install]
WantedBy=default.target
`;
}

/** systemd reads its own signs in every value, and variables in commands. */
function plain(text: string): string {
  if (/[\n\r]/.test(text))
    throw new UserError(`systemd can't name ${JSON.stringify(text)}: it has a line break.`, null);
  return text.replaceAll('%', '%%');
}
const quoted = (text: string): string => `"${plain(text).replace(/[\\"]/g, '\\$&')}"`;
const argument = (text: string): string => quoted(text).replaceAll('$', '$$$$');
