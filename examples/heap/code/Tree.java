/** Binary trees. */
public class Tree {

    Tree left;
    Tree right;
    int key;
    boolean mark;

    /** A search tree with at least one node: keys are put in one after the other. */
    static Tree build(int count) {
        Tree root = new Tree();
        for (int key = 1; key < count; key++) {
            Tree current = root;
            boolean done = false;
            while (!done) {
                if (key < current.key) {
                    if (current.left == null) {
                        current.left = new Tree();
                        done = true;
                    } else {
                        current = current.left;
                    }
                } else {
                    if (current.right == null) {
                        current.right = new Tree();
                        done = true;
                    } else {
                        current = current.right;
                    }
                }
            }
        }
        return root;
    }

    static Tree getLeftmostChild(Tree root) {
        Tree current = root;
        while (current.left != null) {
            current = current.left;
        }
        return current;
    }

    /** Between two steps, a procedure takes the tree apart for a moment. */
    static Tree getLeftmostChildModifyList(Tree root) {
        Tree current = root;
        while (current.left != null) {
            current = current.left;
            root = detachAndAttach(root);
        }
        return current;
    }

    static Tree detachAndAttach(Tree root) {
        Tree child = root.left;
        root.left = null;
        root.left = child;
        return root;
    }

    static void traverseRecursive(Tree root) {
        Tree current = root;
        if (current.left != null) {
            traverseRecursive(current.left);
        }
        if (current.right != null) {
            traverseRecursive(current.right);
        }
    }

    /** At every node, a procedure makes one that nobody needs. */
    static Tree traverseRecursiveModifyHeap(Tree root) {
        if (root.left != null) {
            traverseRecursiveModifyHeap(root.left);
        }
        if (root.right != null) {
            traverseRecursiveModifyHeap(root.right);
        }
        leaveScratch(root);
        return root;
    }

    static void leaveScratch(Tree root) {
        new Tree();
    }

    /**
     * Lindstrom's traversal: without a stack and without marks. Each time a node is met, its links
     * are turned one step further: right becomes left, the way back becomes right. After three
     * times they are as before.
     */
    static Tree traverseLindstrom(Tree root) {
        Tree end = new Tree();
        Tree previous = end;
        Tree current = root;
        while (current != end) {
            Tree next = current.left;
            current.left = current.right;
            current.right = previous;
            previous = current;
            current = next;
            if (current == null) {
                current = previous;
                previous = null;
            }
        }
        return root;
    }

    /**
     * The traversal of Deutsch, Schorr and Waite: the way back is kept in the links themselves. A
     * node whose mark is set has its left part done.
     */
    static Tree traverseSchorrWaite(Tree root) {
        Tree end = new Tree();
        Tree previous = end;
        Tree current = root;
        boolean done = false;
        while (!done) {
            if (current != null) {
                // Down to the left.
                Tree next = current.left;
                current.left = previous;
                previous = current;
                current = next;
            } else {
                // Back, as far as right parts are done.
                while (previous != end && previous.mark) {
                    Tree up = previous.right;
                    previous.right = current;
                    previous.mark = false;
                    current = previous;
                    previous = up;
                }
                if (previous == end) {
                    done = true;
                } else {
                    // From the left part to the right one.
                    Tree up = previous.left;
                    previous.left = current;
                    previous.mark = true;
                    current = previous.right;
                    previous.right = up;
                }
            }
        }
        return root;
    }
}
