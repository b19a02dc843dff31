// Records `forge-loop demo` in tmux as an animated SVG: node docs/images/record.js > docs/images/demo.svg
import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';

const COLUMNS = 100;
const ROWS = 24;
const EVERY_MS = 1500;
const LAST_MS = 6000;
const [WIDTH, HEIGHT, MARGIN] = [8.4, 18, 14];
const DEMO = 'node bin/forge-loop.js demo';
const ESCAPE = String.fromCharCode(27);
const SGR = new RegExp(`${ESCAPE}\\[([\\d;]*)m`);
const COLOURS = { 31: '#ff7b72', 32: '#7ee787', 33: '#e3b341', 34: '#79c0ff', 35: '#d2a8ff', 36: '#76e3ea' };

const tmux = (...args) => execFileSync('tmux', ['-L', 'record', ...args], { encoding: 'utf8' });
const screen = () => tmux('capture-pane', '-e', '-p', '-t', 'demo').trimEnd();

async function record() {
  const size = ['-x', String(COLUMNS), '-y', String(ROWS)];
  tmux(
    'new-session',
    '-d',
    '-s',
    'demo',
    ...size,
    `echo '$ npx forge-loop demo'; ${DEMO}; echo OVER; sleep 60`,
  );
  const frames = [];
  const start = Date.now();
  for (;;) {
    const text = screen();
    if (/^OVER$/m.test(text.replaceAll(new RegExp(SGR, 'g'), ''))) break;
    if (frames.at(-1)?.text !== text) frames.push({ at: Date.now() - start, text });
    await delay(EVERY_MS);
  }
  const text = screen().replace(/\n[^\n]*OVER[\s\S]*/, '');
  tmux('kill-server');
  return [...frames, { at: Date.now() - start, text }];
}

/** One line with its colours, as spans. */
function line(text, y, name) {
  let style = {};
  const parts = text.split(SGR).map((part, index) => {
    const look = attributes(style);
    if (index % 2 === 0)
      return look === '' || part === '' ? escaped(part) : `<tspan${look}>${escaped(part)}</tspan>`;
    for (const code of part.split(';').map(Number)) style = after(style, code);
    return '';
  });
  return `<text class="${name}" x="${MARGIN}" y="${y}">${parts.join('')}</text>`;
}

function after(style, code) {
  if (code === 0) return {};
  if (code === 1) return { ...style, bold: true };
  if (code === 2) return { ...style, dim: true };
  if (code === 39) return { ...style, colour: undefined };
  return COLOURS[code] ? { ...style, colour: COLOURS[code] } : style;
}

const attributes = ({ bold, dim, colour }) =>
  `${colour ? ` fill="${colour}"` : ''}${bold ? ' font-weight="bold"' : ''}${dim ? ' opacity="0.6"' : ''}`;
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

/** A line is drawn once for as long as it stands, whatever changes around it. */
function standing(frames) {
  const lines = Array.from({ length: ROWS }, (_, row) =>
    frames.map(({ text }) => text.split('\n')[row] ?? ''),
  );
  return lines.flatMap((texts, row) =>
    texts.flatMap((text, from) => {
      if (text === '' || text === texts[from - 1]) return [];
      const next = texts.findIndex((other, index) => index > from && other !== text);
      return [{ text, row, from, to: next === -1 ? texts.length : next }];
    }),
  );
}

function draw(frames) {
  const high = ROWS * HEIGHT + 2 * MARGIN;
  const wide = Math.ceil(COLUMNS * WIDTH + 2 * MARGIN);
  const total = frames.at(-1).at + LAST_MS;
  const at = (index) => (index === 0 ? 0 : ((100 * frames[index].at) / total).toFixed(2));
  const lines = standing(frames);
  const nameOf = ({ from, to }) => `f${from}-${to}`;
  const times = new Map(lines.map((one) => [nameOf(one), one]));
  const styles = [...times].map(([name, { from, to }]) => {
    const isLast = to === frames.length;
    const steps = [
      ...(from === 0 ? [] : ['0%{visibility:hidden}']),
      `${at(from)}%{visibility:visible}`,
      isLast ? '100%{visibility:visible}' : `${at(to)}%,100%{visibility:hidden}`,
    ];
    return `@keyframes ${name}{${steps.join('')}}
.${name}{animation-name:${name}${isLast ? '' : ';visibility:hidden'}}`;
  });
  const drawn = lines.map((one) => line(one.text, MARGIN + HEIGHT - 4 + one.row * HEIGHT, nameOf(one)));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${wide}" height="${high}" viewBox="0 0 ${wide} ${high}" role="img" aria-label="A recording of forge-loop demo">
<style>text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#e6edf3;white-space:pre;animation:${(total / 1000).toFixed(1)}s step-end infinite}
${styles.join('\n')}
@media (prefers-reduced-motion){text{animation:none}}</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
${drawn.join('\n')}
</svg>`;
}

console.log(draw(await record()));
