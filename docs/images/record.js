// Records `forge-loop demo` in tmux as an animated SVG: node docs/images/record.js > docs/images/demo.svg
import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';

const COLUMNS = 100;
const ROWS = 24;
const EVERY_MS = 1000;
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
function line(text, y) {
  let style = {};
  const parts = text.split(SGR).map((part, index) => {
    const look = attributes(style);
    if (index % 2 === 0)
      return look === '' || part === '' ? escaped(part) : `<tspan${look}>${escaped(part)}</tspan>`;
    for (const code of part.split(';').map(Number)) style = after(style, code);
    return '';
  });
  const said = parts.join('');
  return said === '' ? '' : `<text x="${MARGIN}" y="${y}">${said}</text>`;
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

function draw(frames) {
  const high = ROWS * HEIGHT + 2 * MARGIN;
  const wide = Math.ceil(COLUMNS * WIDTH + 2 * MARGIN);
  const total = frames.at(-1).at + LAST_MS;
  const steps = frames.map(
    ({ at }, index) => `${((100 * at) / total).toFixed(2)}%{transform:translateY(-${index * high}px)}`,
  );
  const last = (frames.length - 1) * high;
  const pages = frames.map(({ text }, index) => {
    const top = index * high + MARGIN + HEIGHT - 4;
    return text
      .split('\n')
      .map((one, row) => line(one, top + row * HEIGHT))
      .join('');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${wide}" height="${high}" viewBox="0 0 ${wide} ${high}" role="img" aria-label="A recording of forge-loop demo">
<style>text{font:14px ui-monospace,Menlo,Consolas,monospace;fill:#e6edf3;white-space:pre}
@keyframes play{${steps.join('')}100%{transform:translateY(-${last}px)}}
#strip{animation:play ${(total / 1000).toFixed(1)}s step-end infinite}
@media (prefers-reduced-motion){#strip{animation:none;transform:translateY(-${last}px)}}</style>
<rect width="100%" height="100%" rx="8" fill="#0d1117"/>
<g id="strip">${pages.join('\n')}</g>
</svg>`;
}

console.log(draw(await record()));
