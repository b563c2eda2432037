/** A part of the page that fails says so in its own place; the rest goes on. */

import { Component, type ComponentChildren } from "preact";

interface Props {
  /** What the part is, as a sentence begins with it: `The history`. */
  name: string;
  children: ComponentChildren;
}

interface State {
  failure: Error | null;
}

export class Boundary extends Component<Props, State> {
  override state: State = { failure: null };

  static override getDerivedStateFromError(failure: unknown): State {
    return { failure: failure instanceof Error ? failure : new Error(String(failure)) };
  }

  override componentDidCatch(failure: unknown): void {
    console.warn(`${this.props.name} failed`, failure);
  }

  override render() {
    const { failure } = this.state;
    if (failure === null) return this.props.children;
    return (
      <section class="broken" role="alert">
        <p>
          <strong>{this.props.name} cannot be shown.</strong> The rest of the page works.
        </p>
        <pre>{failure.message}</pre>
        <button type="button" onClick={() => this.setState({ failure: null })}>
          Try again
        </button>
      </section>
    );
  }
}
