/** A report as one HTML file without scripts or anything from elsewhere, so that it can be mailed. */
import type { Report } from '../../operations/report.ts';
import { type Page, pageOf } from './page.ts';

export function reportHtml(report: Report): string {
  const page = pageOf(report);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${html(page.title)}, ${html(page.period)}</title>
<style>${STYLE}</style>
</head>
<body>
<h1>${html(page.title)}</h1>
<p class="dim">${html(page.period)}</p>
<p class="summary">${html(page.summary)}</p>
${page.sections.map(section).join('\n')}
${timeline(page)}
${costs(page)}
${page.notes.map((note) => `<p class="dim">${html(note)}</p>`).join('\n')}
</body>
</html>`;
}

const section = ({ heading, lines }: Page['sections'][number]): string => `<h2>${html(heading)}</h2>
<ul>
${lines
  .map(
    ({ name, title, text, advice }) =>
      `<li><b>${html(name)}</b> <span dir="auto">${html(title)}</span><br><span class="dim" dir="auto">${html(text)}</span>${advice ? `<br>${html(advice)}` : ''}</li>`,
  )
  .join('\n')}
</ul>`;

function timeline({ timeline }: Page): string {
  if (timeline.length === 0) return '';
  const bar = ({ from, length, name }: Page['timeline'][number]['bars'][number]): string =>
    `<i style="left:${percent(from)};width:${percent(length)}" title="${html(name)}"></i>`;
  const rows = timeline.map(
    ({ name, title, bars }) =>
      `<tr><th scope="row">${html(name)}</th><td class="bars"><div>${bars.map(bar).join('')}</div></td><td dir="auto">${html(title)}</td></tr>`,
  );
  return `<h2>Time</h2>
<table>
<caption class="dim">Turns, from the first one until now</caption>
${rows.join('\n')}
</table>`;
}

function costs({ costs }: Page): string {
  if (costs.length === 0) return '';
  const rows = costs.map(
    ({ role, cost, share, detail }) =>
      `<tr><th scope="row">${html(role)}</th><td class="number">${html(cost)}</td><td class="bars"><div><i style="left:0;width:${percent(share)}"></i></div></td><td class="dim">${html(detail)}</td></tr>`,
  );
  return `<h2>Cost</h2>
<table>
${rows.join('\n')}
</table>`;
}

const percent = (share: number): string => `${(share * 100).toFixed(2)}%`;

const html = (text: string): string => text.replace(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`);

const STYLE = `
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.4rem; margin: 0 } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
p { margin: .25rem 0 } .summary { font-weight: 600 } .dim { opacity: .7 }
ul { padding-left: 1.2rem } li { margin: .4rem 0; overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums }
caption, th { text-align: left; font-weight: 600 } caption { font-weight: 400 }
th, td { padding: .15rem .6rem .15rem 0; vertical-align: middle } .number { text-align: right }
.bars { width: 50% } .bars div { position: relative; height: .9rem; background: #8882; border-radius: 2px }
.bars i { position: absolute; top: 0; bottom: 0; min-width: 2px; background: #3b76c4; border-radius: 2px }
`;
