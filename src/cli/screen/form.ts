/** What is asked before something is done: how a plan is started, and the text that a choice needs. */
import type { Choice } from '../../core/tell/choices.ts';

interface Field {
  name: string;
  label: string;
  value: string;
  /** What can be chosen; a field without is written in. */
  options?: readonly string[];
  /** Nothing is sent while it is empty. */
  isNeeded?: boolean;
  /** Shown while it is empty. */
  hint: string;
}

export interface Form {
  title: string;
  fields: readonly Field[];
  at: number;
  /** `plan` is null where its file is among the fields. */
  sends: { kind: 'start'; plan: string | null } | { kind: 'choice'; choice: Choice };
}

export function startForm(plan: string | null): Form {
  const file: Field = {
    ...{ name: 'file', label: 'plan file', value: '', hint: 'a path, such as plan.md' },
    isNeeded: true,
  };
  const fields: Field[] = [
    { name: 'mode', label: 'mode', value: 'loop', options: ['loop', 'session', 'here'], hint: '' },
    { name: 'pullRequest', label: 'pull request', value: 'no', options: ['no', 'yes'], hint: '' },
    { name: 'model', label: 'model', value: '', hint: 'as in WORKFLOW.md' },
    { name: 'auditorModel', label: 'auditor model', value: '', hint: 'as in WORKFLOW.md' },
  ];
  return {
    title: plan === null ? 'Load a plan from a file and start it' : `Start plan ${plan}`,
    fields: plan === null ? [file, ...fields] : fields,
    at: 0,
    sends: { kind: 'start', plan },
  };
}

export const choiceForm = (choice: Choice, { field, label }: NonNullable<Choice['asks']>): Form => ({
  title: `${choice.label}: ${choice.says}`,
  fields: [{ name: field, label, value: '', hint: '', isNeeded: true }],
  at: 0,
  sends: { kind: 'choice', choice },
});

/** A form that is left is null; `done` when it was sent. */
export function pressInForm(form: Form, key: string): { form: Form | null; done: boolean } {
  const { fields, at } = form;
  const field = fields[at]!;
  const goTo = (to: number): Form => ({ ...form, at: Math.min(Math.max(to, 0), fields.length - 1) });
  switch (key) {
    case 'escape':
      return { form: null, done: false };
    case 'return':
    case 'enter': {
      const missing = fields.findIndex(({ isNeeded, value }) => isNeeded && value.trim() === '');
      return missing >= 0 ? { form: goTo(missing), done: false } : { form: null, done: true };
    }
    case 'down':
    case 'tab':
      return { form: goTo(at + 1), done: false };
    case 'up':
    case 's-tab':
      return { form: goTo(at - 1), done: false };
    default: {
      const value = field.options ? chosen(field, key) : written(field.value, key);
      const changed = fields.map((one, index) => (index === at ? { ...one, value } : one));
      return { form: { ...form, fields: changed }, done: false };
    }
  }
}

function chosen({ options = [], value }: Field, key: string): string {
  const by = { left: -1, right: 1, space: 1 }[key] ?? 0;
  return options[(options.indexOf(value) + by + options.length) % options.length]!;
}

function written(value: string, key: string): string {
  if (key === 'backspace') return [...value].slice(0, -1).join('');
  if (key === 'space') return `${value} `;
  return [...key].length === 1 ? value + key : value;
}
