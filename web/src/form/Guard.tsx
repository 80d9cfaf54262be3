import { Component, type ReactNode } from "react";

interface GuardProps {
  onFail(): void;
  children: ReactNode;
}

/** Says when what is inside cannot be drawn, so that something else is shown in its place. */
export class Guard extends Component<GuardProps, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override componentDidCatch(): void {
    this.props.onFail();
  }

  override render(): ReactNode {
    return this.state.failed ? null : this.props.children;
  }
}
