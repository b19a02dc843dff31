/** A report as Markdown. What strangers wrote is shown as it is and formats nothing. */
import type { Report } from '../../operations/report.ts';
import { pageOf } from './page.ts';

export function reportMarkdown(report: Report): string {
  const { title, period, summary, sections, costs, notes } = pageOf(report);
  return [
    `# ${plain(title)}`,
    plain(period),
    `**${plain(summary)}**`,
    ...sections.flatMap(({ heading, lines }) => [
      `## ${heading}`,
      lines
        .map(({ name, title, text, advice }) => {
          const subject = [name, title].filter((part) => part !== '').join(' ');
          return `- **${plain(subject)}**: ${plain(text)}${advice ? `<br>${plain(advice)}` : ''}`;
        })
        .join('\n'),
    ]),
    ...(costs.length > 0
      ? [
          '## Cost',
          [
            '| role | cost | |',
            '|---|---|---|',
            ...costs.map(
              ({ role, cost, detail }) => `| ${plain(role)} | ${plain(cost)} | ${plain(detail)} |`,
            ),
          ].join('\n'),
        ]
      : []),
    ...(notes.length > 0 ? [notes.map((note) => `- ${plain(note)}`).join('\n')] : []),
  ].join('\n\n');
}

const plain = (text: string): string => text.replace(/\s+/g, ' ').replace(/[\\`*_[\]<>|~&@]/g, '\\$&');
