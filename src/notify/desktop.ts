/** The desktop this runs on: `notify-send` on Linux, `osascript` on macOS. What is told is never part of a script. */
import type { NoticeKind } from '../core/tell/notify.ts';
import { cut, messageLines, messageTitle } from '../core/words/notices.ts';
import type { Channel } from './notify.ts';
import { type RunProgram, sentBy } from './programs.ts';

interface Desktop {
  platform: string;
  /** Whether a program is on the operator's PATH. */
  isThere(program: string): Promise<boolean>;
  run: RunProgram;
}

export const desktopChannel = ({ platform, isThere, run }: Desktop): Channel => ({
  kind: 'desktop',
  async problem() {
    if (platform === 'darwin') return (await isThere('osascript')) ? null : 'osascript is not on the PATH';
    return (await isThere('notify-send'))
      ? null
      : 'notify-send is not on the PATH: install it (libnotify-bin on Debian, libnotify elsewhere)';
  },
  async send(message, { passEnv }, { signal, onHeld }) {
    const title = cut(messageTitle(message), TITLE_CHARS);
    const text = cut(messageLines(message).join('\n'), TEXT_CHARS);
    const urgent: readonly NoticeKind[] = ['needs_you', 'loop_held'];
    const isUrgent = message.notices.some(({ kinds }) => kinds.some((kind) => urgent.includes(kind)));
    const argv =
      platform === 'darwin'
        ? ['osascript', ...SCRIPT, title, text]
        : [
            ...['notify-send', '--app-name=forge-loop', `--urgency=${isUrgent ? 'critical' : 'normal'}`],
            ...['--', title, escaped(text)],
          ];
    return sentBy(
      await run({
        message: message.id,
        argv,
        stdin: '',
        pass: [...SESSION, ...passEnv],
        signal,
        onHeld,
      }),
    );
  },
});

const TITLE_CHARS = 150;
const TEXT_CHARS = 800;

/** How a program finds the desktop of its user. */
const SESSION = ['DBUS_SESSION_BUS_ADDRESS', 'DISPLAY', 'WAYLAND_DISPLAY', 'XAUTHORITY', 'XDG_RUNTIME_DIR'];

const SCRIPT = [
  ...['-e', 'on run argv'],
  ...['-e', 'display notification (item 2 of argv) with title (item 1 of argv)'],
  ...['-e', 'end run'],
];

/** The body may have markup; the title may not. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
