/** Completions for shells, made from the commands themselves: none can be forgotten. */
import type { Command } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

interface Word {
  word: string;
  says: string;
}

/** What may follow one command; the path of the program itself is empty. */
interface Level {
  path: string;
  commands: Word[];
  options: Word[];
}

export function completionScript(program: Command, shell: Shell): string {
  const levels = levelsOf(program, '', ofOptions(program));
  return { bash, zsh, fish }[shell](levels);
}

function levelsOf(command: Command, path: string, everywhere: readonly Word[]): Level[] {
  const commands = command.commands.map((sub) => ({ word: sub.name(), says: sub.description() }));
  const options = path === '' ? [...everywhere] : [...ofOptions(command), ...everywhere];
  const below = command.commands.flatMap((sub) => levelsOf(sub, `${path} ${sub.name()}`.trim(), everywhere));
  return [{ path, commands, options }, ...below];
}

const ofOptions = (command: Command): Word[] => [
  ...command.options.flatMap(({ long, description }) => (long ? [{ word: long, says: description }] : [])),
  ...(command.parent === null ? [{ word: '--help', says: 'show help' }] : []),
];

const words = ({ commands, options }: Level): string =>
  [...commands, ...options].map(({ word }) => word).join(' ');

/** The words before the cursor that name a command, one after the other. */
const pathCases = (levels: readonly Level[]): string =>
  levels
    .filter(({ path }) => path !== '')
    .map(({ path }) => `"${path}"`)
    .join(' | ');

function bash(levels: readonly Level[]): string {
  return `# forge-loop completion bash >> ~/.bash_completion
_forge_loop() {
  local current="\${COMP_WORDS[COMP_CWORD]}" path="" next at words
  for ((at = 1; at < COMP_CWORD; at++)); do
    next="\${path:+$path }\${COMP_WORDS[at]}"
    case "$next" in
      ${pathCases(levels)}) path="$next" ;;
    esac
  done
  case "$path" in
${levels.map((level) => `    "${level.path}") words="${words(level)}" ;;`).join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o bashdefault -o default -F _forge_loop forge-loop
`;
}

function zsh(levels: readonly Level[]): string {
  const described = ({ commands, options }: Level): string =>
    [...commands, ...options]
      .map(({ word, says }) => quoted(`${word.replaceAll(':', '\\:')}:${plain(says)}`))
      .join(' ');
  return `#compdef forge-loop
# forge-loop completion zsh > a folder of your $fpath, as _forge-loop
_forge_loop() {
  local path="" next at
  local -a found
  for ((at = 2; at < CURRENT; at++)); do
    next="\${path:+$path }\${words[at]}"
    case "$next" in
      ${pathCases(levels)}) path="$next" ;;
    esac
  done
  case "$path" in
${levels.map((level) => `    "${level.path}") found=(${described(level)}) ;;`).join('\n')}
  esac
  _describe 'forge-loop' found || _files
}
if [ "$funcstack[1]" = "_forge-loop" ]; then _forge_loop "$@"; else compdef _forge_loop forge-loop; fi
`;
}

function fish(levels: readonly Level[]): string {
  const line = (level: Level, { word, says }: Word): string => {
    const given = word.startsWith('--') ? `-l ${word.slice(2)}` : `-a ${word}`;
    return `complete -c forge-loop -n ${quoted(`__forge_loop_at ${level.path}`)} ${given} -d ${quoted(plain(says))}`;
  };
  return `# forge-loop completion fish > ~/.config/fish/completions/forge-loop.fish
function __forge_loop_at
    set -l path
    for word in (commandline -opc)[2..-1]
        switch (string join ' ' -- $path $word)
            case ${levels
              .filter(({ path }) => path !== '')
              .map(({ path }) => quoted(path))
              .join(' ')}
                set -a path $word
        end
    end
    test "$path" = "$argv"
end
${levels.flatMap((level) => [...level.commands, ...level.options].map((word) => line(level, word))).join('\n')}
`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;
/** In a list of a shell there is room for one line without its code marks. */
const plain = (says: string): string => says.replaceAll('`', '').replaceAll("'", '’').replace(/\s+/g, ' ');
