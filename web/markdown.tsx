/** Markdown as elements. Its HTML is shown as the text that it is, its links open only what is a page, its images are links. */

import { lexer, type Token, type Tokens } from 'marked';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { Scroll } from './parts.tsx';

export function Markdown({ text }: { text: string }) {
  const tokens = useMemo(() => lexer(text), [text]);
  return (
    <div class="markdown" dir="auto">
      {text.trim() === '' ? <p class="note">No text.</p> : blocks(tokens)}
    </div>
  );
}

const blocks = (tokens: readonly Token[]): ComponentChildren =>
  tokens.map((token, at) => <Block key={at} token={token} />);

function Block({ token }: { token: Token }) {
  switch (token.type) {
    case 'space':
    case 'def':
      return null;
    case 'heading': {
      const { depth, tokens } = token as Tokens.Heading;
      return depth <= 2 ? <h3>{inline(tokens)}</h3> : <h4>{inline(tokens)}</h4>;
    }
    case 'paragraph':
      return <p>{inline((token as Tokens.Paragraph).tokens)}</p>;
    case 'code':
      return <pre>{(token as Tokens.Code).text}</pre>;
    case 'blockquote':
      return <blockquote>{blocks((token as Tokens.Blockquote).tokens)}</blockquote>;
    case 'hr':
      return <hr />;
    case 'list': {
      const { ordered, start, items } = token as Tokens.List;
      const rows = items.map((item, at) => (
        <li key={at} class={item.task ? 'is-task' : ''}>
          {item.task && <span aria-hidden="true">{item.checked ? '☑ ' : '☐ '}</span>}
          {blocks(item.tokens.filter(({ type }) => type !== 'checkbox'))}
        </li>
      ));
      return ordered ? <ol start={typeof start === 'number' ? start : 1}>{rows}</ol> : <ul>{rows}</ul>;
    }
    case 'table': {
      const { header, rows } = token as Tokens.Table;
      return (
        <Scroll label="Table">
          <table>
            <thead>
              <tr>
                {header.map((cell, at) => (
                  <th key={at} scope="col">
                    {inline(cell.tokens)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.map((row, line) => (
                <tr key={line}>
                  {row.map((cell, at) => (
                    <td key={at}>{inline(cell.tokens)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      );
    }
    case 'html':
      return <PlanMark raw={token.raw} />;
    default:
      return <>{'tokens' in token && token.tokens ? inline(token.tokens) : textOf(token)}</>;
  }
}

/** What cuts a plan is seen as a line; any other HTML as the text that it is. */
function PlanMark({ raw }: { raw: string }) {
  const [, mark] = /^<!--\s*forge-(section|plan:start|plan:end)\s*-->\s*$/.exec(raw) ?? [];
  return mark === undefined ? <pre>{raw}</pre> : mark === 'section' ? <hr /> : null;
}

const inline = (tokens: readonly Token[]): ComponentChildren =>
  tokens.map((token, at) => <Inline key={at} token={token} />);

function Inline({ token }: { token: Token }) {
  const inner = 'tokens' in token && token.tokens ? inline(token.tokens) : textOf(token);
  switch (token.type) {
    case 'strong':
      return <strong>{inner}</strong>;
    case 'em':
      return <em>{inner}</em>;
    case 'del':
      return <del>{inner}</del>;
    case 'codespan':
      return <code>{(token as Tokens.Codespan).text}</code>;
    case 'br':
      return <br />;
    case 'link':
    case 'image':
      return <Elsewhere to={(token as Tokens.Link).href}>{inner}</Elsewhere>;
    case 'html':
      return <>{token.raw}</>;
    default:
      return <>{inner}</>;
  }
}

/** What stands for a letter in Markdown's own HTML is that letter here. */
const textOf = (token: Token): string =>
  (('text' in token ? (token.text as string) : token.raw) ?? '').replace(
    /&(amp|lt|gt|quot|#39);/g,
    (_, name: string) => LETTERS[name] ?? '',
  );
const LETTERS: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" };

function Elsewhere({ to, children }: { to: string; children: ComponentChildren }) {
  if (!/^https?:\/\//i.test(to)) return <span title={to}>{children}</span>;
  return (
    <a href={to} target="_blank" rel="noreferrer noopener nofollow">
      {children}
    </a>
  );
}
