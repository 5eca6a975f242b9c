/** Search trees in which the heights of two siblings differ by one at most. */
public class AVLTree {

    AVLTree left;
    AVLTree right;
    int key;
    /** The height on the right, less that on the left: -1, 0 or 1. */
    int balance;

    AVLTree(int key) {
        this.key = key;
        this.balance = 0;
    }

    /** The node with this key, or null. */
    static AVLTree search(AVLTree root, int key) {
        AVLTree current = root;
        while (current != null && current.key != key) {
            if (key < current.key) {
                current = current.left;
            } else {
                current = current.right;
            }
        }
        return current;
    }

    /** Puts a key in, and gives the root of the tree, which may be another node now. */
    static AVLTree insert(AVLTree root, int key) {
        if (key < root.key) {
            AVLTree child = root.left;
            if (child == null) {
                child = new AVLTree(key);
                root.left = child;
                return leftGrew(root, child);
            }
            // A tree has grown if and only if its root was in balance and is so no more.
            int before = child.balance;
            child = insert(child, key);
            root.left = child;
            if (before == 0 && child.balance != 0) {
                return leftGrew(root, child);
            }
        } else {
            AVLTree child = root.right;
            if (child == null) {
                child = new AVLTree(key);
                root.right = child;
                return rightGrew(root, child);
            }
            int before = child.balance;
            child = insert(child, key);
            root.right = child;
            if (before == 0 && child.balance != 0) {
                return rightGrew(root, child);
            }
        }
        return root;
    }

    /** Puts `root` in balance again when `child`, on its left, has grown. */
    static AVLTree leftGrew(AVLTree root, AVLTree child) {
        if (root.balance == 1) {
            root.balance = 0;
            return root;
        }
        if (root.balance == 0) {
            root.balance = -1;
            return root;
        }
        if (child.balance == -1) {
            root.left = child.right;
            child.right = root;
            root.balance = 0;
            child.balance = 0;
            return child;
        }
        AVLTree middle = child.right;
        child.right = middle.left;
        root.left = middle.right;
        middle.left = child;
        middle.right = root;
        if (middle.balance == -1) {
            root.balance = 1;
            child.balance = 0;
        } else if (middle.balance == 1) {
            root.balance = 0;
            child.balance = -1;
        } else {
            root.balance = 0;
            child.balance = 0;
        }
        middle.balance = 0;
        return middle;
    }

    /** Puts `root` in balance again when `child`, on its right, has grown. */
    static AVLTree rightGrew(AVLTree root, AVLTree child) {
        if (root.balance == -1) {
            root.balance = 0;
            return root;
        }
        if (root.balance == 0) {
            root.balance = 1;
            return root;
        }
        if (child.balance == 1) {
            root.right = child.left;
            child.left = root;
            root.balance = 0;
            child.balance = 0;
            return child;
        }
        AVLTree middle = child.left;
        child.left = middle.right;
        root.right = middle.left;
        middle.right = child;
        middle.left = root;
        if (middle.balance == 1) {
            root.balance = -1;
            child.balance = 0;
        } else if (middle.balance == -1) {
            root.balance = 0;
            child.balance = 1;
        } else {
            root.balance = 0;
            child.balance = 0;
        }
        middle.balance = 0;
        return middle;
    }
}
