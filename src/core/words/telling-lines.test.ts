import { expect, test } from 'vitest';
import { tellingLines } from './telling-lines.ts';

const many = (word: string, count: number) => Array.from({ length: count }, (_, at) => `${word} ${at + 1}`);

test('a short output is told whole, from where it speaks of failing', () => {
  expect(tellingLines('resolving\n\n  error: no such crate\nsee above\n')).toBe(
    'error: no such crate · see above',
  );
});

test('an error that is followed by pages of advice is told, and so is the end', () => {
  const npm = [
    'npm warn old lockfile',
    'npm error code EUSAGE',
    'npm error',
    'npm error The `npm ci` command can only install with an existing package-lock.json or',
    'npm error npm-shrinkwrap.json with lockfileVersion >= 1. Run an install with npm@5 or',
    'npm error later to generate a package-lock.json file, then try again.',
    ...many('npm error [--option]', 90),
    'npm error A complete log of this run can be found in: x.log',
  ];
  expect(tellingLines(npm.join('\n'))).toBe(
    [npm[1], npm[3], npm[4], npm[5], '…', ...npm.slice(-4)].join(' · '),
  );
});

test('where nothing speaks of failing, the end counts, without colours', () => {
  expect(tellingLines([...many('line', 30), '\x1b[31msh: mvn: not found\x1b[0m'].join('\n'))).toBe(
    [...many('line', 30).slice(-7), 'sh: mvn: not found'].join(' · '),
  );
  expect(tellingLines('')).toBe('');
});
