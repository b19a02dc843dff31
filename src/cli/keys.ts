/** Keys as they are pressed in a terminal, by name: `j`, `return`, `c-c`; of a letter with shift, the letter. */
import { emitKeypressEvents } from 'node:readline';

export interface Keyboard {
  /** What was pressed since; null once `stop` fires. */
  next(): Promise<string | null>;
  /** Gives the terminal back to others, and takes it again. */
  release(): void;
  take(): void;
}

export function openKeyboard(stop: AbortSignal): Keyboard {
  const { stdin } = process;
  const pressed: string[] = [];
  let wake: () => void = () => {};
  const heard = (
    text: string | undefined,
    key: { name?: string; ctrl?: boolean; meta?: boolean; shift?: boolean; sequence?: string },
  ): void => {
    const isLetter = text !== undefined && text.length === 1 && !key.ctrl;
    // Soon after escape a letter arrives as one key with it; that is two keys, and the second is for where the first led.
    if (key.meta && key.sequence?.length === 2 && key.name !== 'escape') pressed.push('escape');
    if (key.ctrl) pressed.push(`c-${key.name}`);
    else if (key.shift && key.name === 'tab') pressed.push('s-tab');
    else if (isLetter && !CONTROLS.has(key.name ?? '')) pressed.push(text);
    else if (key.meta && key.shift && key.name) pressed.push(key.name.toUpperCase());
    else pressed.push(key.name ?? text ?? '');
    // Pressed twice in a row it comes once.
    if (key.sequence === '\x1b\x1b') pressed.push('escape');
    wake();
  };
  emitKeypressEvents(stdin);
  stop.addEventListener('abort', () => wake(), { once: true });
  return {
    async next() {
      while (pressed.length === 0 && !stop.aborted)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      return pressed.shift() ?? null;
    },
    release() {
      stdin.off('keypress', heard);
      stdin.setRawMode(false);
      stdin.pause();
    },
    take() {
      stdin.on('keypress', heard);
      stdin.setRawMode(true);
      stdin.resume();
    },
  };
}

/** They have a text of one character, too. */
const CONTROLS: ReadonlySet<string> = new Set(['return', 'enter', 'tab', 'escape', 'backspace', 'space']);
