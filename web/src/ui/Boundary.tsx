import { Component, type ReactNode } from "react";
import { inWords } from "../api/client";

interface BoundaryProps {
  /** Something else is shown: what went wrong before does not matter any more. */
  of: string;
  children: ReactNode;
  /** What is shown in its place, where it is only a part of a room. */
  instead?(again: () => void): ReactNode;
}

interface BoundaryState {
  error: unknown;
  of: string;
}

/** Keeps a mistake of ours in one room from taking the whole page away. */
export class Boundary extends Component<BoundaryProps, BoundaryState> {
  override state: BoundaryState = { error: null, of: this.props.of };

  static getDerivedStateFromError(error: unknown): Partial<BoundaryState> {
    return { error };
  }

  static getDerivedStateFromProps(props: BoundaryProps, state: BoundaryState): BoundaryState | null {
    return props.of === state.of ? null : { error: null, of: props.of };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === null) return this.props.children;
    const again = () => this.setState({ error: null });
    if (this.props.instead) return this.props.instead(again);
    return (
      <div className="stack" role="alert">
        <h1>This cannot be shown</h1>
        <p>
          The page made a mistake here. Nothing is lost: the server has all that happened, and this browser
          what you typed.
        </p>
        <pre className="mono">{inWords(error)}</pre>
        <div className="buttons">
          <button type="button" className="button primary" onClick={again}>
            Try again
          </button>
        </div>
      </div>
    );
  }
}
