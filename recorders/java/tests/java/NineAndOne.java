/** Allocates nine objects in foo and one in bar, over and over. Argument: rounds. */
public final class NineAndOne {
    static final class X { int a; }

    static volatile Object escape;

    static void foo() {
        for (int i = 0; i < 9; i++) {
            escape = new X();
        }
    }

    static void bar() {
        escape = new X();
    }

    public static void main(String[] args) {
        int rounds = Integer.parseInt(args[0]);
        for (int i = 0; i < rounds; i++) {
            foo();
            bar();
        }
    }
}
