/** A plan to fill in. It has everything that `lintPlan` asks for but the words. */
export function planSkeleton(name: string): string {
  return `<!-- forge-plan:start -->

# ${name}

Loop Name: ${name}

## Objective

What is built, and why.

<!-- forge-section -->
## Milestone 1: what it achieves

### Files

- The files it touches, from the top of the repository.

### Edits

- What changes in each file: functions, their signatures, what calls them.

### Acceptance Criteria

- [ ] What is true when this milestone is done.

### Verification

- The commands that show it, and what they must print.

<!-- forge-section -->
## Milestone 2: what it achieves

### Files

- The files it touches, from the top of the repository.

### Edits

- What changes in each file.

### Acceptance Criteria

- [ ] What is true when this milestone is done.

### Verification

- The commands that show it, and what they must print.

## Verification

- How to tell that the whole plan is done.

## Decisions

- What was decided, and why.

## Conventions

- What the code here keeps to.

## Key Context

- What a newcomer must know: files, functions, constraints.

<!-- forge-plan:end -->
`;
}

/** What is to be filled in; `isNeeded`: without it nobody can tell what is wanted, or when it is done. */
export const PLACEHOLDERS: ReadonlyMap<string, { isNeeded: boolean }> = (() => {
  const found = new Map<string, { isNeeded: boolean }>();
  let isNeeded = true;
  for (const line of planSkeleton('').split('\n')) {
    if (line.startsWith('## ')) isNeeded = !/^## (Decisions|Conventions|Key Context)$/.test(line);
    if (line.startsWith('## Milestone') || /^(- |\w(?!oop Name))/.test(line)) found.set(line, { isNeeded });
  }
  return found;
})();
